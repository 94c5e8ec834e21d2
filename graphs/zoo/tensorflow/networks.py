"""The networks of the TensorFlow zoo, each as (function of tensors, list of input specs)."""

import tensorflow as tf


def keras_network(build, shape):
    model = build()
    return (lambda input: model(input, training=False)), [tf.TensorSpec([None, *shape], tf.float32, name="input")], model


def application(name, size):
    return lambda: keras_network(lambda: getattr(tf.keras.applications, name)(weights=None), [size, size, 3])


def unet():
    """Ronneberger et al. 2015 with padded convolutions and batch normalisation, 256 x 256, two classes."""
    layers = tf.keras.layers

    def block(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.Activation("relu")(layers.BatchNormalization()(x))
        return x

    def build():
        x = image = tf.keras.Input([256, 256, 3])
        skips = []
        for width in (64, 128, 256, 512):
            x = block(x, width)
            skips.append(x)
            x = layers.MaxPooling2D(2)(x)
        x = block(x, 1024)
        for width, skip in zip((512, 256, 128, 64), reversed(skips)):
            x = layers.Conv2DTranspose(width, 2, strides=2, padding="same")(x)
            x = block(layers.Concatenate()([skip, x]), width)
        return tf.keras.Model(image, layers.Conv2D(2, 1)(x))

    return keras_network(build, [256, 256, 3])


class Bert(tf.Module):
    """BERT-base (Devlin et al. 2019) written with plain operations, in the post-norm order of the paper."""

    def __init__(self, layers=12, width=768, heads=12, words=30522, positions=512):
        super().__init__()
        self.layers, self.width, self.heads = layers, width, heads
        # Not zeros: tf2onnx drops what adds nothing.
        weight = lambda name, *shape: tf.Variable(tf.random.normal(shape, stddev=0.02), name=name)
        self.word, self.position, self.kind = (weight("word", words, width), weight("position", positions, width),
                                               weight("kind", 2, width))
        self.norms = [(weight(f"gamma{i}", width), weight(f"beta{i}", width)) for i in range(2 * layers + 1)]
        shapes = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
        self.dense = [[(weight(f"kernel{i}_{j}", a, b), weight(f"bias{i}_{j}", b)) for j, (a, b) in enumerate(shapes)]
                      for i in range(layers)]
        self.pooler = (weight("pooler_kernel", width, width), weight("pooler_bias", width))

    def norm(self, x, index):
        gamma, beta = self.norms[index]
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def project(self, x, pair):
        return tf.nn.bias_add(tf.matmul(x, pair[0]), pair[1])

    def split(self, x, batch, length):
        return tf.transpose(tf.reshape(x, [batch, length, self.heads, self.width // self.heads]), [0, 2, 1, 3])

    def __call__(self, input_ids, attention_mask):
        batch, length = tf.unstack(tf.shape(input_ids))
        x = tf.gather(self.word, input_ids) + self.position[:length] + self.kind[0]
        x = tf.reshape(self.norm(x, 0), [-1, self.width])
        mask = (1.0 - tf.cast(attention_mask[:, tf.newaxis, tf.newaxis, :], tf.float32)) * -10000.0
        for i, dense in enumerate(self.dense):
            q, k, v = (self.split(self.project(x, pair), batch, length) for pair in dense[:3])
            scores = tf.matmul(q, k, transpose_b=True) * (self.width // self.heads) ** -0.5 + mask
            mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
            x = self.norm(x + self.project(tf.reshape(mixed, [-1, self.width]), dense[3]), 2 * i + 1)
            inner = self.project(x, dense[4])
            inner = 0.5 * inner * (1.0 + tf.math.erf(inner / 2.0 ** 0.5))
            x = self.norm(x + self.project(inner, dense[5]), 2 * i + 2)
        hidden = tf.reshape(x, [batch, length, self.width])
        return {"hidden": hidden, "pooled": tf.tanh(self.project(hidden[:, 0], self.pooler))}


def bert(**sizes):
    model = Bert(**sizes)
    return (model.__call__, [tf.TensorSpec([None, None], tf.int32, name="input_ids"),
                             tf.TensorSpec([None, None], tf.int32, name="attention_mask")], model)


def recurrent(cell):
    """Two recurrent layers over 32 steps of 128 numbers, and a classifier."""
    layers = tf.keras.layers

    def build():
        x = sequence = tf.keras.Input([32, 128])
        x = getattr(layers, cell)(256, return_sequences=True)(x)
        x = getattr(layers, cell)(256)(x)
        return tf.keras.Model(sequence, layers.Dense(10, activation="softmax")(x))

    return keras_network(build, [32, 128])


def lstm_v1():
    """The same with TensorFlow 1's while loops and arrays of tensors, as a GraphDef with variables frozen."""
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [None, 32, 128], name="input")
        steps = tf.transpose(x, [1, 0, 2])
        for layer in range(2):
            width = steps.shape[-1]
            kernel = tf.constant(0.0, tf.float32, [width + 256, 1024], name=f"kernel{layer}")
            bias = tf.constant(0.0, tf.float32, [1024], name=f"bias{layer}")
            batch = tf.shape(steps)[1]
            inputs = tf.TensorArray(tf.float32, 32, element_shape=[None, width]).unstack(steps)
            outputs = tf.TensorArray(tf.float32, 32)

            def step(time, h, c, outputs, inputs=inputs, kernel=kernel, bias=bias):
                gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs.read(time), h], 1), kernel), bias)
                i, j, f, o = tf.split(gates, 4, 1)
                c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
                h = tf.tanh(c) * tf.sigmoid(o)
                return time + 1, h, c, outputs.write(time, h)

            zeros = tf.zeros([batch, 256])
            _, h, _, outputs = v1.while_loop(lambda time, *_: time < 32, step, [0, zeros, zeros, outputs])
            steps = outputs.stack()
            steps.set_shape([32, None, 256])
        dense = tf.constant(0.0, tf.float32, [256, 10], name="dense")
        tf.nn.softmax(tf.matmul(h, dense), name="probabilities")
    v1.enable_control_flow_v2()
    return graph.as_graph_def()


def digits():
    """A small convolutional network for 28 x 28 digits, with batch normalisation and dropout."""
    layers = tf.keras.layers
    return tf.keras.Sequential([
        tf.keras.Input([28, 28, 1]),
        layers.Conv2D(16, 3, use_bias=False),
        layers.BatchNormalization(),
        layers.Activation("relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, activation="relu"),
        layers.Flatten(),
        layers.Dropout(0.25),
        layers.Dense(10)])


def digits_train():
    """One step of training with Keras' loss and Adam, as on-device training exports it."""
    model = digits()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return {"loss": loss}

    specs = [tf.TensorSpec([32, 28, 28, 1], tf.float32, name="images"), tf.TensorSpec([32], tf.int64, name="labels")]
    seeds = [layer.seed_generator.state.value for layer in model.layers if hasattr(layer, "seed_generator")]
    return train, specs, [model, optimizer, *seeds]


def digits_train_v1():
    """The same convolutions trained by TensorFlow 1: reference variables, ApplyMomentum."""
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        images = v1.placeholder(tf.float32, [32, 28, 28, 1], name="images")
        labels = v1.placeholder(tf.int64, [32], name="labels")
        weight = lambda name, *shape: v1.get_variable(name, shape, use_resource=False,
                                                      initializer=v1.zeros_initializer())
        x = tf.nn.conv2d(images, weight("w1", 3, 3, 1, 16), 1, "VALID")
        x = tf.nn.relu(v1.nn.fused_batch_norm(x, weight("gamma", 16), weight("beta", 16))[0])
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weight("w2", 3, 3, 16, 32), 1, "VALID"), weight("b2", 32)))
        x = tf.reshape(x, [32, 11 * 11 * 32])
        logits = tf.nn.bias_add(tf.matmul(x, weight("w3", 11 * 11 * 32, 10)), weight("b3", 10))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    v1.enable_control_flow_v2()
    return graph.as_graph_def()


# name -> (kind of file, network). Frozen graphs and SavedModels take the same networks.
NETWORKS = {
    "resnet50": ("frozen", application("ResNet50", 224)),
    "mobilenet_v2": ("saved", application("MobileNetV2", 224)),
    "efficientnet_b0": ("saved", application("EfficientNetB0", 224)),
    "inception_v3": ("frozen", application("InceptionV3", 299)),
    "bert_base": ("saved", bert),
    # Two of its layers: what tf2onnx can convert in little memory.
    "bert_2": ("saved", lambda: bert(layers=2, words=1000)),
    "unet": ("frozen", unet),
    "lstm": ("saved", lambda: recurrent("LSTM")),
    "gru": ("frozen", lambda: recurrent("GRU")),
    "digits_train": ("training", digits_train),
}

# Made by TensorFlow 1's API, as a GraphDef: (kind of file, graph).
VERSION_1 = {"lstm_v1": ("frozen", lstm_v1), "digits_train_v1": ("text", digits_train_v1)}

# Not converted to ONNX.
TENSORFLOW_ONLY = {"bert_base"}
