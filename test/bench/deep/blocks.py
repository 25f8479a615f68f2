"""Random deep graphs on rows of features, images, sequences, or all of these."""
import math

from graph import Graph

ACTIVATIONS = ["Relu", "Relu", "Tanh", "Sigmoid", "Softplus", "Elu", "LeakyRelu"]


class Blocks:
    """The blocks of deep models. A block takes a value and returns a value."""

    def __init__(self, seed, size, grain):
        self.graph = g = Graph(seed)
        self.random = g.random
        self.size = size
        # Extents of products are multiples of this.
        self.grain = grain
        self.batch = self.grained(g.random.choice([2, 3, 8]))
        # Weights that several nodes share, by input and output extents.
        self.shared = {}
        # Earlier values that a later block may use again.
        self.kept = []

    def grained(self, extent):
        return -(-extent // self.grain) * self.grain

    def choose(self, *options):
        return self.random.choice(options)

    def activated(self, value):
        return self.graph.node(self.random.choice(ACTIVATIONS), [value], self.graph.shape(value))

    def same(self, op, *values, **attributes):
        """Adds an op whose result has the shape of its first operand."""
        return self.graph.node(op, values, self.graph.shape(values[0]), **attributes)

    def concat(self, parts, axis):
        shape = list(self.graph.shape(parts[0]))
        shape[axis] = sum(self.graph.shape(part)[axis] for part in parts)
        return self.graph.node("Concat", parts, shape, axis=axis)

    def split(self, value, sizes, axis):
        shapes = []
        for size in sizes:
            shapes.append(list(self.graph.shape(value)))
            shapes[-1][axis] = size
        return self.graph.node_of("Split", [value, self.graph.ints(sizes)], shapes, axis=axis)

    def slice(self, value, start, end, axis, step=1):
        shape = list(self.graph.shape(value))
        shape[axis] = len(range(start, end, step))
        ints = self.graph.ints
        return self.graph.node("Slice", [value, ints([start]), ints([end]), ints([axis]),
                                         ints([step])], shape)

    def reverse(self, value, axis):
        ints, extent = self.graph.ints, self.graph.shape(value)[axis]
        return self.graph.node("Slice", [value, ints([extent - 1]), ints([-extent - 1]),
                                         ints([axis]), ints([-1])], self.graph.shape(value))

    def transpose(self, value, perm):
        shape = self.graph.shape(value)
        return self.graph.node("Transpose", [value], [shape[i] for i in perm], perm=list(perm))

    def reshape(self, value, shape):
        return self.graph.node("Reshape", [value, self.graph.ints(shape)], shape)

    def reduce(self, op, value, axes, keep=True):
        shape = list(self.graph.shape(value))
        for axis in axes:
            shape[axis] = 1 if keep else None
        shape = [extent for extent in shape if extent is not None]
        return self.graph.node(op, [value, self.graph.ints(axes)], shape, keepdims=int(keep))

    def scaled(self, value, factor):
        return self.same("Mul", value, self.graph.number(factor))

    def linear(self, value, to):
        """A product along the last dimension: Gemm for rows, MatMul for others."""
        shape = self.graph.shape(value)
        key = shape[-1], to
        if key not in self.shared or self.random.random() < 0.3:
            self.shared[key] = (self.graph.weight(key, shape[-1] ** -0.5),
                                self.graph.weight((to,), 0.3))
        matrix, bias = self.shared[key]
        if len(shape) == 2:
            return self.graph.node("Gemm", [value, matrix, bias], (shape[0], to))
        product = self.graph.node("MatMul", [value, matrix], (*shape[:-1], to))
        return self.same("Add", product, bias)

    def normalized(self, value):
        width = self.graph.shape(value)[-1]
        scale = self.graph.weight((width,), 0.1, 1.0)
        if self.random.random() < 0.25:  # RMSNorm as single ops.
            squares = self.same("Mul", value, value)
            mean = self.reduce("ReduceMean", squares, [len(self.graph.shape(value)) - 1])
            root = self.same("Sqrt", self.same("Add", mean, self.graph.number(1e-5)))
            return self.same("Mul", self.same("Div", value, root), scale)
        bias = self.graph.weight((width,), 0.1)
        return self.same("LayerNormalization", value, scale, bias, axis=-1)

    # Blocks for every shape; the last dimension is the features.

    def residual(self, value):
        width = self.graph.shape(value)[-1]
        inner = self.activated(self.linear(self.normalized(value), 2 * width))
        return self.same("Add", value, self.linear(inner, width))

    def post_norm(self, value):
        width = self.graph.shape(value)[-1]
        inner = self.linear(self.activated(self.linear(value, width)), width)
        return self.normalized(self.same("Add", value, inner))

    def dense(self, value):
        """Concatenates new features to the old ones."""
        axis, width = len(self.graph.shape(value)) - 1, self.graph.shape(value)[-1]
        parts = [value]
        for _ in range(self.choose(2, 5, min(30, self.size // 4))):
            joined = self.concat(parts, axis)
            parts.append(self.activated(self.linear(self.normalized(joined),
                                                    self.grained(self.choose(1, 3, 4)))))
        return self.linear(self.concat(parts, axis), width)

    def gated(self, value):
        width = self.graph.shape(value)[-1]
        gates = self.same("Softmax", self.linear(value, width), axis=-1)
        return self.normalized(self.same("Mul", value, gates))

    def glu(self, value):
        """Both halves of one product, as views."""
        axis, width = len(self.graph.shape(value)) - 1, self.graph.shape(value)[-1]
        both = self.linear(self.normalized(value), 2 * width)
        if self.random.random() < 0.5:
            left, right = self.split(both, [width, width], axis)
        else:
            left = self.slice(both, 0, width, axis)
            right = self.slice(both, width, 2 * width, axis)
        return self.same("Add", value, self.same("Mul", left, self.same("Sigmoid", right)))

    def centered(self, value):
        rank = len(self.graph.shape(value))
        axes = self.choose([0], [rank - 1], list(range(rank - 1)), [0, rank - 1])
        return self.same("Sub", value, self.reduce("ReduceMean", value, axes))

    def pooled(self, value):
        """Broadcasts several reductions of a value back to it."""
        rank = len(self.graph.shape(value))
        op = self.choose("ReduceLogSumExp", "ReduceL2", "ReduceSum", "ReduceMax")
        axes = self.choose([0], [rank - 1], [0, rank - 1])
        found = self.reduce(op, value, axes)
        if op == "ReduceSum":
            found = self.same("Tanh", self.scaled(found, 0.2))
        elif op == "ReduceL2":
            found = self.same("Reciprocal", self.same("Add", found, self.graph.number(1.0)))
            return self.same("Mul", value, found) if self.random.random() < 0.5 else \
                self.same("Add", value, found)
        return self.same("Sub", value, self.scaled(found, 0.5))

    def masked(self, value):
        shape = self.graph.shape(value)
        mask = self.graph.mask(shape if self.random.random() < 0.5 else shape[1:], 0.7)
        other = self.choose(self.graph.number(0.0), self.activated(value))
        return self.same("Add", value, self.graph.node("Where", [mask, value, other], shape))

    def shuffled(self, value):
        """Data movement: slices, transposes and concatenations."""
        shape = self.graph.shape(value)
        axis = self.choose(*range(1, len(shape)))
        extent = shape[axis]
        kind = self.random.randrange(4)
        if kind == 0 and extent > 1:
            cut = self.random.randrange(1, extent)
            left, right = self.split(value, [cut, extent - cut], axis)
            moved = self.concat([right, self.activated(left)], axis)
        elif kind == 1:
            places = [self.random.randrange(extent) for _ in range(extent)]
            moved = self.graph.node("Gather", [value, self.graph.ints(places)], shape, axis=axis)
        elif kind == 2 and extent % 2 == 0:
            even, odd = (self.slice(value, start, extent, axis, 2) for start in (0, 1))
            moved = self.concat([self.same("Neg", odd), even], axis)
        else:
            moved = self.reverse(value, axis)
        return self.same("Add", value, self.scaled(moved, 0.5))

    def turned(self, value):
        """A transpose and a reshape, and back."""
        shape = self.graph.shape(value)
        perm = list(range(len(shape)))
        self.random.shuffle(perm)
        back = [perm.index(i) for i in range(len(perm))]
        flat = self.transpose(value, perm)
        inner = self.activated(self.reshape(flat, (math.prod(shape),)))
        if self.random.random() < 0.5:
            inner = self.scaled(self.same("Exp", self.same("Tanh", inner)), 0.3)
        turned = self.transpose(self.reshape(inner, self.graph.shape(flat)), back)
        return self.same("Sub", value, turned)

    def summed(self, value):
        """Cumulative sums, and the maximum of each pair."""
        axis = len(self.graph.shape(value)) - 1
        sums = self.graph.node("CumSum", [value, self._scalar_axis(axis)],
                               self.graph.shape(value))
        op = self.choose("Max", "Min")
        return self.normalized(self.same(op, value, self.scaled(sums, 0.3)))

    def _scalar_axis(self, axis):
        return self.graph._constant("int64", (), [axis])

    def recalled(self, value):
        """Uses a much earlier value, which stays alive until then."""
        old = [v for v in self.kept if self.graph.shape(v) == self.graph.shape(value)]
        self.kept.append(value)
        if not old:
            return self.normalized(value)
        chosen = self.random.sample(old, min(len(old), self.choose(1, 2, 12)))
        return self.scaled(self.same("Sum", value, *chosen), (len(chosen) + 1) ** -0.5)

    ANY = [residual, residual, post_norm, dense, gated, glu, centered, pooled, masked, shuffled,
           turned, summed, recalled]

    def grow(self, value, blocks, end):
        while len(self.graph.nodes) < end:
            value = self.random.choice(blocks)(self, value)
        return value

    # Losses.

    def classes(self, logits):
        g = self.graph
        shape = g.shape(logits)
        count = shape[1]
        places = (shape[0], *shape[2:])
        labels = g.input("labels", "int64", places,
                         [self.random.randrange(count) for _ in range(math.prod(places))])
        reduction = self.choose("mean", "mean", "sum")
        if self.random.random() < 0.3:
            logits = self.same("LogSoftmax", logits, axis=1)
            return g.node("NegativeLogLikelihoodLoss", [logits, labels], (), reduction=reduction)
        return g.node("SoftmaxCrossEntropyLoss", [logits, labels], (), reduction=reduction)

    def distance(self, value):
        g = self.graph
        target = g.normal_input("targets", g.shape(value))
        difference = self.same("Sub", value, target)
        axes = list(range(len(g.shape(value))))
        if self.random.random() < 0.5:
            return self.reduce("ReduceMean", self.same("Mul", difference, difference), axes, False)
        return self.reduce("ReduceMean", self.same("Abs", difference), axes, False)

    def finish(self, features):
        """A loss of features [batch, width], sometimes a sum of two."""
        self.head(self.loss_of(features))
        return self.graph

    def loss_of(self, features):
        kind = self.random.randrange(4)
        if kind == 3:
            return self.distance(self.linear(features, 3))
        loss = self.classes(self.linear(features, self.choose(3, 5, 17)))
        if kind == 2:
            loss = self.graph.node("Add", [loss, self.distance(self.linear(features, 2))], ())
        return loss

    def head(self, loss):
        self.graph.loss = loss


class Images(Blocks):
    """Values are [batch, channels, rows, columns]."""

    def convolution(self, value, to, kernel=3, stride=1, group=1, bias=True):
        g = self.graph
        batch, channels, rows, columns = g.shape(value)
        key = "conv", channels, to, kernel, group, bias
        if key not in self.shared or self.random.random() < 0.7:
            fan = channels // group * kernel * kernel
            self.shared[key] = [g.weight((to, channels // group, kernel, kernel), fan ** -0.5)]
            if bias:
                self.shared[key].append(g.weight((to,), 0.3))
        pad = kernel // 2
        out = [(extent + 2 * pad - kernel) // stride + 1 for extent in (rows, columns)]
        return g.node("Conv", [value, *self.shared[key]], (batch, to, *out), group=group,
                      kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2)

    def batch_normalized(self, value):
        g = self.graph
        channels = g.shape(value)[1],
        operands = [value, g.weight(channels, 0.1, 1.0), g.weight(channels, 0.1)]
        if self.random.random() < 0.15:
            return self.same("InstanceNormalization", *operands)
        statistics = [g.statistic(channels, 0.0), g.statistic(channels, 1.0)]
        return g.node_of("BatchNormalization", operands + statistics,
                         [g.shape(value), channels, channels],
                         momentum=0.9, training_mode=1)[0]

    def convolved(self, value):
        channels = self.graph.shape(value)[1]
        kernel = self.choose(1, 3)
        group = self.choose(1, 1, 2, channels)
        inner = self.convolution(value, channels, kernel, group=group if channels % group == 0
                                 else 1, bias=self.random.random() < 0.5)
        return self.activated(self.batch_normalized(inner))

    def bottleneck(self, value):
        channels = self.graph.shape(value)[1]
        narrow = max(2, channels // 2)
        inner = self.activated(self.batch_normalized(self.convolution(value, narrow, 1, bias=False)))
        inner = self.activated(self.batch_normalized(self.convolution(inner, narrow, bias=False)))
        inner = self.batch_normalized(self.convolution(inner, channels, 1, bias=False))
        return self.activated(self.same("Add", inner, value))

    def pre_activated(self, value):
        channels = self.graph.shape(value)[1]
        inner = self.convolution(self.activated(self.batch_normalized(value)), channels)
        inner = self.convolution(self.activated(self.batch_normalized(inner)), channels)
        return self.same("Add", value, inner)

    def dense_image(self, value):
        channels = self.graph.shape(value)[1]
        parts = [value]
        for _ in range(self.choose(2, 4, min(16, self.size // 8))):
            inner = self.activated(self.batch_normalized(self.concat(parts, 1)))
            parts.append(self.convolution(inner, self.choose(1, 2, 4), self.choose(1, 3),
                                          bias=False))
        return self.convolution(self.concat(parts, 1), channels, 1)

    def inception(self, value):
        channels = self.graph.shape(value)[1]
        width = max(1, channels // 4)
        pooled = self.graph.node("AveragePool", [value], self.graph.shape(value),
                                 count_include_pad=1, kernel_shape=[3, 3], pads=[1] * 4,
                                 strides=[1, 1])
        largest = self.graph.node("MaxPool", [value], self.graph.shape(value),
                                  kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])
        parts = [self.convolution(value, width, 1), self.convolution(value, width, 3),
                 self.convolution(pooled, width, 1), self.convolution(largest, width, 1)]
        joined = self.batch_normalized(self.concat(parts, 1))
        return self.same("Add", self.convolution(joined, channels, 1), value)

    def excited(self, value):
        batch, channels = self.graph.shape(value)[:2]
        if self.random.random() < 0.5:
            mean = self.graph.node("GlobalAveragePool", [value], (batch, channels, 1, 1))
        else:
            mean = self.reduce("ReduceMean", value, [2, 3])
        gates = self.activated(self.convolution(mean, max(2, channels // 2), 1))
        gates = self.same("Sigmoid", self.convolution(gates, channels, 1))
        return self.same("Mul", value, gates)

    def channel_shuffle(self, value):
        shape = self.graph.shape(value)
        if shape[1] % 2:
            return self.convolved(value)
        half = shape[1] // 2
        left, right = self.split(value, [half, half], 1)
        joined = self.concat([left, self.convolution(right, half, 3, group=half)], 1)
        cut = self.reshape(joined, (shape[0], 2, half, *shape[2:]))
        return self.reshape(self.transpose(cut, (0, 2, 1, 3, 4)), shape)

    def up_and_down(self, value):
        g = self.graph
        batch, channels, rows, columns = g.shape(value)
        if rows < 4:
            return self.convolved(value)
        if self.random.random() < 0.5:
            low = g.node("MaxPool", [value], (batch, channels, rows // 2, columns // 2),
                         kernel_shape=[2, 2], strides=[2, 2])
            low = self.convolved(low)
        else:
            low = self.batch_normalized(self.convolution(value, channels, 3, stride=2))
        rows_low, columns_low = g.shape(low)[2:]
        matrix = g.weight((channels, channels, 2, 2), (4 * channels) ** -0.5)
        high = g.node("ConvTranspose", [low, matrix, g.weight((channels,), 0.3)],
                      (batch, channels, 2 * rows_low, 2 * columns_low),
                      kernel_shape=[2, 2], strides=[2, 2])
        return self.batch_normalized(self.convolution(self.concat([value, high], 1), channels, 1))

    def features_last(self, value):
        """A block for any shape, with the channels moved to the end."""
        moved = self.transpose(value, (0, 2, 3, 1))
        return self.transpose(self.random.choice(self.ANY)(self, moved), (0, 3, 1, 2))

    def padded(self, value):
        g = self.graph
        batch, channels, rows, columns = g.shape(value)
        pads = g.ints([0, 0, 1, 1, 0, 0, 1, 1])
        wide = g.node("Pad", [value, pads], (batch, channels, rows + 2, columns + 2),
                      mode=self.choose("constant", "reflect", "edge")
                      if min(rows, columns) > 1 else "constant")
        smaller = g.node("AveragePool", [wide], (batch, channels, rows, columns),
                         kernel_shape=[3, 3], strides=[1, 1], pads=[0] * 4, count_include_pad=0)
        return self.same("Sub", value, smaller)

    IMAGES = [convolved, convolved, bottleneck, pre_activated, dense_image, inception, excited,
              channel_shuffle, up_and_down, features_last, padded]

    def make(self):
        size = self.choose(4, 6, 8)
        value = self.graph.normal_input("x", (self.batch, 3, size, size))
        value = self.convolution(value, self.grained(self.choose(4, 6, 8, 16)))
        value = self.batch_normalized(self.grow(value, self.IMAGES, self.size))
        if self.random.random() < 0.2:
            return self.dense_labels(value)
        return self.finish(self.reduce("ReduceMean", value, [2, 3], keep=False))

    def dense_labels(self, value):
        """A class for each pixel."""
        self.head(self.classes(self.convolution(value, 4, 1)))
        return self.graph


class Sequences(Blocks):
    """Values are [batch, length, features]."""

    def attention(self, value):
        g = self.graph
        batch, length, width = g.shape(value)
        heads = self.choose(1, 2)
        inner = self.normalized(value) if self.random.random() < 0.7 else value
        if self.random.random() < 0.5:
            queries, keys, values = (self.linear(inner, width) for _ in range(3))
        else:
            queries, keys, values = self.split(self.linear(inner, 3 * width), [width] * 3, 2)
        shape = (batch, length, heads, width // heads)
        queries = self.transpose(self.reshape(queries, shape), (0, 2, 1, 3))
        keys = self.transpose(self.reshape(keys, shape), (0, 2, 3, 1))
        values = self.transpose(self.reshape(values, shape), (0, 2, 1, 3))
        scores = g.node("MatMul", [queries, keys], (batch, heads, length, length))
        scores = self.scaled(scores, (width // heads) ** -0.5)
        if self.random.random() < 0.5:
            causal = g._constant("bool", (1, 1, length, length),
                                 [column <= row for row in range(length)
                                  for column in range(length)])
            scores = g.node("Where", [causal, scores, g.number(-1e9)], g.shape(scores))
        mixed = g.node("MatMul", [self.same("Softmax", scores, axis=-1), values],
                       g.shape(queries))
        mixed = self.reshape(self.transpose(mixed, (0, 2, 1, 3)), (batch, length, width))
        return self.same("Add", value, self.linear(mixed, width))

    def shifted(self, value):
        """Mixes each position with the previous one."""
        batch, length, width = self.graph.shape(value)
        before = self.slice(value, 0, length - 1, 1)
        first = self.slice(value, 0, 1, 1)
        return self.normalized(self.same("Add", value, self.linear(
            self.concat([first, before], 1), width)))

    def mixer(self, value):
        """A product along the positions."""
        turned = self.transpose(self.normalized(value), (0, 2, 1))
        length = self.graph.shape(value)[1]
        inner = self.linear(self.activated(self.linear(turned, 2 * length)), length)
        return self.same("Add", value, self.transpose(inner, (0, 2, 1)))

    def recurrent(self, value):
        """A few steps of a gated unit, unrolled."""
        g = self.graph
        batch, length, width = g.shape(value)
        state = g.node("Squeeze", [self.slice(value, 0, 1, 1), g.ints([1])], (batch, width))
        states = []
        for step in range(length):
            part = g.node("Squeeze", [self.slice(value, step, step + 1, 1), g.ints([1])],
                          (batch, width))
            both = self.concat([part, state], 1)
            gate = self.same("Sigmoid", self.linear(both, width))
            new = self.same("Tanh", self.linear(both, width))
            state = self.same("Add", state, self.same("Mul", gate, self.same("Sub", new, state)))
            states.append(g.node("Unsqueeze", [state, g.ints([1])], (batch, 1, width)))
        return self.normalized(self.same("Add", value, self.concat(states, 1)))

    SEQUENCES = [attention, attention, attention, shifted, mixer, recurrent]

    def embedded(self):
        g = self.graph
        length, width, words = self.choose(3, 5, 8), self.grained(self.choose(4, 8, 16)), self.choose(7, 20)
        tokens = g.input("tokens", "int64", (self.batch, length),
                         [self.random.randrange(words) for _ in range(self.batch * length)])
        table = g.weight((words, width), 1.0)
        value = g.node("Gather", [table, tokens], (self.batch, length, width), axis=0)
        return self.same("Add", value, g.weight((length, width), 0.3)), table

    def make(self):
        g = self.graph
        value, table = self.embedded()
        value = self.grow(value, self.SEQUENCES + self.random.sample(self.ANY, 5), self.size)
        value = self.normalized(value)
        if self.random.random() < 0.5:  # Logits for each position, with the embedding table (tied weights).
            words, width = g.shape(table)
            turned = self.transpose(table, (1, 0))
            logits = g.node("MatMul", [value, turned], (*g.shape(value)[:2], words))
            self.head(self.classes(self.transpose(logits, (0, 2, 1))))
            return g
        return self.finish(self.reduce("ReduceMean", value, [1], keep=False))


class Rows(Blocks):
    """Values are [batch, features]."""

    def top(self, value):
        batch, width = self.graph.shape(value)
        few = max(1, width // 2)
        values, _ = self.graph.node_of("TopK", [value, self.graph.ints([few])],
                                       [(batch, few)] * 2, axis=1)
        return self.same("Add", value, self.linear(values, width))

    def make(self):
        value = self.graph.normal_input("x", (self.batch, self.grained(self.choose(4, 8, 24))))
        return self.finish(self.grow(value, self.ANY + [Rows.top], self.size))


class Mixed(Images, Sequences):
    """An image, then the sequence of its pixels, then rows."""

    def make(self):
        g = self.graph
        value = g.normal_input("x", (self.batch, 2, 4, 4))
        value = self.grow(self.convolution(value, self.grained(8)), self.IMAGES, self.size // 2)
        batch, channels = g.shape(value)[:2]
        value = self.transpose(self.reshape(value, (batch, channels, 16)), (0, 2, 1))
        value = self.normalized(value)
        value = self.grow(value, self.SEQUENCES + self.ANY, self.size * 3 // 4)
        value = self.reduce("ReduceMean", self.normalized(value), [1], keep=False)
        return self.finish(self.grow(value, self.ANY, self.size))


FAMILIES = {"rows": Rows, "images": Images, "sequences": Sequences, "mixed": Mixed}


def make_graph(family, seed, size, grain=1):
    return FAMILIES[family](f"{family} {seed}", size, grain).make()
