"""Inference of a small convolutional network with TensorFlow, for dfsim tune to run.

usage: tensorflow_infer.py [--batch N] [--threads N] [--inter N] [--seconds X]
Prints the rate in samples per second, after a warm-up. Needs tensorflow.
"""
import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--threads", type=int, default=0, help="inside an operator; 0 = TensorFlow's choice")
parser.add_argument("--inter", type=int, default=0, help="operators at once; 0 = TensorFlow's choice")
parser.add_argument("--seconds", type=float, default=1)
options = parser.parse_args()
tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(options.inter)

layers = [tf.keras.Input((128, 128, 3))]
for width in (32, 64, 128, 256):
    layers += [tf.keras.layers.Conv2D(width, 3, strides=2, padding="same"),
               tf.keras.layers.BatchNormalization(), tf.keras.layers.ReLU()]
model = tf.keras.Sequential([*layers, tf.keras.layers.GlobalAveragePooling2D(),
                             tf.keras.layers.Dense(1000)])
infer = tf.function(lambda images: model(images, training=False))
images = tf.random.uniform((options.batch, 128, 128, 3))
for _ in range(3):
    infer(images)
runs, begin = 0, time.perf_counter()
while runs < 3 or time.perf_counter() - begin < options.seconds:
    infer(images).numpy()
    runs += 1
seconds = time.perf_counter() - begin
print(f"rate: {runs * options.batch / seconds:.3f} samples/s")
