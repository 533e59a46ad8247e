"""The most probable text of a language model; each step asks for the probabilities of the next token.

Pass an endpoint as the first argument: it gets ``{"prompt": text}`` and answers
``{"tokens": {token: log-probability}}``. Without one, a bigram model answers. It prints:

    the sun is on the sun is on the wind
    log-likelihood -4.297 after 60 steps
"""

import json
import math
import sys
from collections import Counter
from itertools import pairwise
from urllib.request import Request, urlopen

import dagsearch as ds

VERSES = """the sun is on the sea and the sea is on the sand and the wind is on the sea
the wind is in the tree and the tree is on the hill and the sun is in the wind and all is still"""
POEM = VERSES.split()


def counted(prompt):
    follows = Counter(b for a, b in pairwise(POEM) if a == prompt.split()[-1]) or Counter(POEM)
    return {f" {word}": math.log(count / follows.total()) for word, count in follows.items()}


def asked(prompt):
    request = Request(
        sys.argv[1], json.dumps({"prompt": prompt}).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)["tokens"]


class Continuation:
    """Add some tokens to a prompt; a state is the tokens so far and the possible next ones."""

    model, prompt, length = staticmethod(asked if sys.argv[1:] else counted), "the sun", 8

    def root(self):
        return ds.Step(((), tuple(self.model(self.prompt).items())))

    def actions(self, state):
        return [token for token, _ in state[1]]

    def prior(self, state):
        return [math.exp(log_p) for _, log_p in state[1]]

    def expand(self, state, token):  # the expensive call
        tokens, gain = (*state[0], token), dict(state[1])[token]
        if len(tokens) == self.length:
            return ds.Step((tokens, ()), gain, value=0.0)
        return ds.Step((tokens, tuple(self.model(self.prompt + "".join(tokens)).items())), gain)


result = ds.search(Continuation(), budget=60, seed=0)
print(Continuation.prompt + "".join(result.best_path))
print(f"log-likelihood {result.best_reward:.3f} after {len(result.history)} steps")
