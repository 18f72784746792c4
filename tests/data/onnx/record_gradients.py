#!/usr/bin/env python3
"""The loss of models/recurrent_loss.onnx and its gradients, by TensorFlow's GradientTape in doubles over ONNX's formulas.

  tests/data/onnx/record_gradients.py        writes models/recurrent_loss.npz, its input too
"""
import os

import numpy as np
import onnx
import tensorflow as tf

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")


def lstm(x, h, c, w, r, b):
    i, o, f, fresh = tf.split(x @ tf.transpose(w) + h @ tf.transpose(r) + b[:8] + b[8:], 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(fresh)
    return tf.sigmoid(o) * tf.tanh(c), c


def gru(x, h, c, w, r, b):
    of_x, of_h = tf.split(x @ tf.transpose(w) + b[:9], 3, axis=1), tf.split(h @ tf.transpose(r) + b[9:], 3, axis=1)
    z, reset = tf.sigmoid(of_x[0] + of_h[0]), tf.sigmoid(of_x[1] + of_h[1])
    return (1 - z) * tf.tanh(of_x[2] + reset * of_h[2]) + z * h, c


def rnn(x, h, c, w, r, b):
    return tf.tanh(x @ tf.transpose(w) + h @ tf.transpose(r) + b[:2] + b[2:]), c


def layer(cell, x, lengths, backwards, w, r, b):
    """[steps, batch, hidden], a row of the batch after the other."""
    rows = []
    for n, length in enumerate(lengths):
        h = c = tf.zeros((1, r.shape[1]), tf.float64)
        given = [h] * len(x)
        for t in reversed(range(length)) if backwards else range(length):
            h, c = cell(x[t, n:n + 1], h, c, w, r, b)
            given[t] = h
        rows.append(tf.stack([*given[:length], *[tf.zeros_like(h)] * (len(x) - length)]))
    return tf.concat(rows, axis=1)


model = onnx.load(os.path.join(FOLDER, "recurrent_loss.onnx"))
values = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
x, lengths = (np.arange(24, dtype=np.float32).reshape(4, 2, 3) % 7 - 3) / 4, np.array([4, 2], np.int32)
v = {k: tf.constant(a, tf.float64) for k, a in {"x": x, **values}.items() if a.dtype == np.float32}
with tf.GradientTape() as tape:
    tape.watch(v)
    two = [layer(lstm, v["x"], lengths, d == 1, *(v[k][d] for k in ("w1", "r1", "b1"))) for d in (0, 1)]
    back = layer(gru, tf.concat(two, axis=2), [4, 4], True, *(v[k][0] for k in ("w2", "r2", "b2")))
    loss = tf.reduce_mean(layer(rnn, back, [4, 4], False, *(v[k][0] for k in ("w3", "r3", "b3")))[-1] ** 2)
gradients = {"d" + k: g.numpy().astype(np.float32) for k, g in tape.gradient(loss, v).items()}
np.savez(os.path.join(FOLDER, "recurrent_loss.npz"), x=x, lengths=lengths, loss=np.float32(loss), **gradients)
