import numpy as np
import pytest

from dagsearch import ProblemError
from dagsearch.values.graph import Graph


def graph_of(names, edges):
    graph = Graph()
    nodes = {name: graph.add(name, name, sign=1, branching=9) for name in names}
    graph.level[nodes[names[0]]] = 0
    for parent, child in edges:
        graph.link(nodes[parent], [nodes[child]], [int(graph.count[nodes[parent]])])
    return graph, nodes


def test_a_longer_path_pushes_everything_below_it_down():
    graph, nodes = graph_of("axbcd", [("a", "b"), ("b", "c"), ("c", "d"), ("a", "x"), ("x", "b")])
    assert [graph.level[nodes[name]] for name in "abcdx"] == [0, 2, 3, 4, 1]


def test_children_come_before_their_parents():
    rng = np.random.default_rng(0)
    names = list(range(60))
    edges = [(0, j) for j in range(1, 60)]  # so that all have a path
    edges += [(int(i), int(j)) for i, j in rng.integers(60, size=(400, 2)) if i < j]
    rng.shuffle(edges)
    graph = Graph()
    for name in names:
        graph.add(name, name, sign=1, branching=99)
    graph.level[0] = 0
    for parent, child in edges:
        graph.link(parent, [child], [0])
    order = graph.deepest_first().tolist()
    assert sorted(order) == names
    assert all(order.index(child) < order.index(parent) for parent, child in edges)


def test_nodes_without_a_path_are_left_out():
    graph, nodes = graph_of("abz", [("a", "b")])
    assert graph.level[nodes["z"]] == -1
    assert sorted(graph.deepest_first().tolist()) == [nodes["a"], nodes["b"]]


@pytest.mark.parametrize("edges", [[("a", "a")], [("a", "b"), ("b", "c"), ("c", "a")]])
def test_a_cycle_is_named(edges):
    with pytest.raises(ProblemError, match=r"cycle.*'a'"):
        graph_of("abc", edges)


def test_a_second_action_to_the_same_child_is_no_second_option():
    graph, nodes = graph_of("abc", [("a", "b"), ("a", "c"), ("a", "b")])
    assert graph.children(nodes["a"]).tolist() == [nodes["b"], nodes["c"], nodes["b"]]
    assert (graph.edge_child[graph.edges(nodes["a"])] < 0).tolist() == [False, False, True]
    assert graph.branching[nodes["a"]] == 8


def test_children_keep_their_order_however_many_come():
    graph = Graph()
    root = graph.add("root", "root", sign=1, branching=500)
    other = graph.add("other", "other", sign=1, branching=500)
    graph.level[root] = 0
    graph.link(root, [other], [499])
    for i in range(300):  # two growing runs of edges, interleaved
        child = graph.add(i, i, sign=1, branching=0)
        graph.link(root, [child], [i])
        graph.link(other, [child], [300 - i])
    assert graph.children(root).tolist() == [other, *range(2, 302)]
    assert graph.edge_action[graph.edges(other)].tolist() == [300 - i for i in range(300)]
    assert len(graph) == 302
