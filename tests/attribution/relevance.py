"""BERT and GPT-2 written out in numpy, with layer-wise relevance propagation written out as rules for relevance.

Nothing here is a gradient: every step keeps what it has seen and turns the relevance of its output into that of its
input, in float64. ``rule`` and ``activation`` are the parameters of the method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, pi, sqrt

import numpy as np

Array = np.ndarray
Weights = dict[str, Array]
Step = Callable[[Array], Array]
"""From the relevance of a step's output to that of its input."""


@dataclass(frozen=True)
class Rules:
    """Rules of relevance for attention and activations."""

    rule: str
    activation: str


def gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.vectorize(erf)(x / sqrt(2)))


def gelu_new(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def linear(x: Array, weight: Array, bias: Array) -> tuple[Array, Step]:
    """LRP-0: a product x_i w_ij gets its share of the output it adds to; the bias keeps its own."""
    y = x @ weight + bias

    def back(relevance: Array) -> Array:
        found = np.zeros_like(x)
        for row in range(len(x)):
            shares = x[row][:, None] * weight / y[row]
            found[row] = shares @ relevance[row]
        return found

    return y, back


def normalise(x: Array, weight: Array, bias: Array, eps: float) -> tuple[Array, Step]:
    """y_j = Σ_i (δ_ij - 1/d) x_i w_j / σ + b_j with σ constant: a linear layer for every row."""
    d = x.shape[1]
    centre = np.eye(d) - 1 / d
    steps = [linear(row[None], centre * (weight / sqrt(row.var() + eps)), bias) for row in x]

    def back(relevance: Array) -> Array:
        return np.concatenate([step(part[None]) for (_, step), part in zip(steps, relevance, strict=True)])

    return np.concatenate([y for y, _ in steps]), back


def add(*terms: Array) -> tuple[Array, Callable[[Array], list[Array]]]:
    """Every term gets its share."""
    total = sum(terms)
    return total, lambda relevance: [term / total * relevance for term in terms]


def activate(f: Callable[[Array], Array], x: Array, rules: Rules) -> tuple[Array, Step]:
    """All goes on (identity), or input times derivative over output (by central differences)."""
    y = f(x)
    if rules.activation == "identity":
        return y, lambda relevance: relevance
    slope = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
    return y, lambda relevance: x * slope / y * relevance


def attend(q: Array, k: Array, v: Array, causal: bool, rules: Rules) -> tuple[Array, Callable[[Array], list[Array]]]:
    """One head, [N, d_h] each; the relevance of queries, keys and values comes back."""
    n, d = q.shape
    s = q @ k.T / sqrt(d)
    seen = np.tril(np.ones((n, n))) if causal else np.ones((n, n))
    a = np.exp(s) * seen
    a /= a.sum(axis=1, keepdims=True)
    o = a @ v

    def back(relevance: Array) -> list[Array]:
        into_v, into_a = np.zeros_like(v), np.zeros_like(a)
        for i in range(n):
            for j in range(n):
                share = a[i, j] * v[j] * relevance[i] / o[i]
                into_v[j] += share
                into_a[i, j] += share.sum()
        if rules.rule == "conservative":
            return [np.zeros_like(q), np.zeros_like(k), into_v]
        into_a, into_v = into_a / 2, into_v / 2
        into_s = s * (into_a - a * into_a.sum(axis=1, keepdims=True))
        into_q, into_k = np.zeros_like(q), np.zeros_like(k)
        for i in range(n):
            for j in range(n):
                share = q[i] * k[j] / sqrt(d) / s[i, j] * into_s[i, j] / 2
                into_q[i] += share
                into_k[j] += share
        return [into_q, into_k, into_v]

    return o, back


def attention(q: Array, k: Array, v: Array, heads: int, causal: bool, rules: Rules) -> tuple[Array, Callable]:
    """All heads side by side in [N, d]."""
    parts = [np.split(x, heads, axis=1) for x in (q, k, v)]
    found = [attend(*head, causal, rules) for head in zip(*parts, strict=True)]

    def back(relevance: Array) -> list[Array]:
        each = [step(part) for (_, step), part in zip(found, np.split(relevance, heads, axis=1), strict=True)]
        return [np.concatenate(side, axis=1) for side in zip(*each, strict=True)]

    return np.concatenate([o for o, _ in found], axis=1), back


@dataclass(frozen=True)
class Parts:
    """The layers of a model by transformers' names; ``transposed`` if its weights map from the second axis."""

    w: Weights
    heads: int
    rules: Rules
    transposed: bool
    eps: float

    def dense(self, name: str, x: Array) -> tuple[Array, Step]:
        weight = self.w[f"{name}.weight"]
        bias = self.w.get(f"{name}.bias", np.zeros(1))
        return linear(x, weight.T if self.transposed else weight, bias)

    def norm(self, name: str, x: Array) -> tuple[Array, Step]:
        return normalise(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"], self.eps)

    def feed(self, enter: str, leave: str, f: Callable[[Array], Array], x: Array) -> tuple[Array, Step]:
        wide, from_wide = self.dense(enter, x)
        active, from_active = activate(f, wide, self.rules)
        y, from_y = self.dense(leave, active)
        return y, lambda relevance: from_wide(from_active(from_y(relevance)))


def bert_block(m: Parts, name: str, x: Array) -> tuple[Array, Step]:
    """Each norm after its sum."""
    parts = [m.dense(f"{name}.attention.self.{side}", x) for side in ("query", "key", "value")]
    read, from_read = attention(*(y for y, _ in parts), m.heads, False, m.rules)
    out, from_out = m.dense(f"{name}.attention.output.dense", read)
    total, from_total = add(out, x)
    middle, from_middle = m.norm(f"{name}.attention.output.LayerNorm", total)
    fed, from_fed = m.feed(f"{name}.intermediate.dense", f"{name}.output.dense", gelu, middle)
    last, from_last = add(fed, middle)
    y, from_y = m.norm(f"{name}.output.LayerNorm", last)

    def back(relevance: Array) -> Array:
        into_fed, into_middle = from_last(from_y(relevance))
        into_out, into_x = from_total(from_middle(into_middle + from_fed(into_fed)))
        sides = zip(parts, from_read(from_out(into_out)), strict=True)
        return into_x + sum(step(side) for (_, step), side in sides)

    return y, back


def bert(w: Weights, ids: Array, heads: int, target: int, rules: Rules) -> tuple[Array, Array]:
    """The logits [classes], and the relevance [N, d] of the word embeddings."""
    m = Parts(w, heads, rules, transposed=True, eps=1e-12)
    tables = {name: w[f"bert.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
    types = np.tile(tables["token_type"][0], (len(ids), 1))
    embedded, from_embedded = add(tables["word"][ids], tables["position"][: len(ids)], types)
    x, from_x = m.norm("bert.embeddings.LayerNorm", embedded)
    steps = [from_x]
    while f"bert.encoder.layer.{len(steps) - 1}.output.dense.weight" in w:
        x, step = bert_block(m, f"bert.encoder.layer.{len(steps) - 1}", x)
        steps.append(step)
    logits, from_logits = m.feed("bert.pooler.dense", "classifier", np.tanh, x[:1])
    relevance = np.zeros_like(x)
    relevance[:1] = from_logits(logits * (np.arange(logits.shape[1]) == target))
    for step in reversed(steps):
        relevance = step(relevance)
    return logits[0], from_embedded(relevance)[0]


def gpt2_block(m: Parts, name: str, x: Array) -> tuple[Array, Step]:
    """Each norm before its part; query, key and value side by side."""
    first, from_first = m.norm(f"{name}.ln_1", x)
    sides, from_sides = m.dense(f"{name}.attn.c_attn", first)
    read, from_read = attention(*np.split(sides, 3, axis=1), m.heads, True, m.rules)
    out, from_out = m.dense(f"{name}.attn.c_proj", read)
    middle, from_middle = add(out, x)
    second, from_second = m.norm(f"{name}.ln_2", middle)
    fed, from_fed = m.feed(f"{name}.mlp.c_fc", f"{name}.mlp.c_proj", gelu_new, second)
    y, from_y = add(fed, middle)

    def back(relevance: Array) -> Array:
        into_fed, into_middle = from_y(relevance)
        into_out, into_x = from_middle(into_middle + from_second(from_fed(into_fed)))
        into_sides = np.concatenate(from_read(from_out(into_out)), axis=1)
        return into_x + from_first(from_sides(into_sides))

    return y, back


def gpt2(w: Weights, ids: Array, heads: int, target: int, rules: Rules) -> tuple[Array, Array]:
    """The logits [classes], and the relevance [N, d] of the word embeddings."""
    m = Parts(w, heads, rules, transposed=False, eps=1e-5)
    x, from_x = add(w["transformer.wte.weight"][ids], w["transformer.wpe.weight"][: len(ids)])
    steps = []
    while f"transformer.h.{len(steps)}.ln_1.weight" in w:
        x, step = gpt2_block(m, f"transformer.h.{len(steps)}", x)
        steps.append(step)
    final, from_final = m.norm("transformer.ln_f", x)
    logits, from_logits = linear(final[-1:], w["score.weight"].T, np.zeros(1))
    relevance = np.zeros_like(x)
    relevance[-1:] = from_logits(logits * (np.arange(logits.shape[1]) == target))
    for step in reversed([*steps, from_final]):
        relevance = step(relevance)
    return logits[0], from_x(relevance)[0]
