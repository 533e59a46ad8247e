"""The most probable text of a language model behind an HTTP endpoint.

Every step asks the endpoint for the probabilities of the next token, which is the expensive call. Name yours
as the first argument: it gets ``{"prompt": text}`` and answers ``{"tokens": {token: log-probability}}`` with
the most probable ones. Without an argument a small server is started here, which counts the words of a poem.
"""

import json
import math
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from urllib.request import Request, urlopen

import dagsearch as ds


class Continuation:
    """Add some tokens to a prompt; a state is the tokens so far and what may come next."""

    def __init__(self, url, prompt, length):
        self.url, self.prompt, self.length = url, prompt, length

    def root(self):
        return ds.Step(self.ask(()))

    def actions(self, state):
        tokens, following = state
        return [token for token, _ in following] if len(tokens) < self.length else []

    def expand(self, state, token):
        tokens, following = state
        after = (*tokens, token)
        done = len(after) == self.length
        return ds.Step(self.ask(after, done), gain=dict(following)[token], value=0.0 if done else None)

    def prior(self, state):
        return [math.exp(log_p) for _, log_p in state[1]] if len(state[0]) < self.length else []

    def ask(self, tokens, done=False):
        if done:  # nothing follows, so nothing is asked
            return tokens, ()
        body = json.dumps({"prompt": self.prompt + "".join(tokens)}).encode()
        with urlopen(Request(self.url, body, {"Content-Type": "application/json"}), timeout=60) as answer:
            return tokens, tuple(json.load(answer)["tokens"].items())


VERSES = """the sun is on the sea and the sea is on the sand and the wind is on the sea
the wind is in the tree and the tree is on the hill and the sun is in the wind and all is still"""
POEM = VERSES.split()


class Poem(BaseHTTPRequestHandler):
    """A model that has counted which word follows which."""

    def do_POST(self):
        prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"].split()
        follows = Counter(b for a, b in pairwise(POEM) if a == prompt[-1]) or Counter(POEM)
        tokens = {f" {word}": math.log(count / follows.total()) for word, count in follows.items()}
        answer = json.dumps({"tokens": tokens}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main(url, prompt="the sun", length=8):
    result = ds.search(Continuation(url, prompt, length), budget=60, seed=0)
    print(prompt + "".join(result.best_path))
    print(f"log-likelihood {result.best_reward:.3f} after {len(result.history)} steps")


if len(sys.argv) > 1:
    main(sys.argv[1])
else:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Poem)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    main(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
