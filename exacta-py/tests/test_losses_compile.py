"""Losses in compiled programs: registered operators, no graph break, dynamic shapes."""

import pytest

torch = pytest.importorskip("torch")

from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from exacta import losses  # noqa: E402
from exacta.losses import _module  # noqa: E402
from losses_common import CASES, inputs, keywords, made, step  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


# The operators of PyTorch take long to trace; one loss of each kind is enough of them.
PLAIN = [(name, "torch") for name in ("dice ce weighted", "focal alpha", "dice top-k", "lovasz", "boundary")]


@pytest.mark.parametrize(("name", "backend"), [(name, "auto") for name in CASES] + PLAIN)
def test_fullgraph(name, backend):
    """One graph for all sizes; "aot_eager" runs what inductor is given, without its code generation."""
    torch._dynamo.reset()
    loss = made(name, backend)
    counter = CompileCounterWithBackend("aot_eager")

    def program(x, y):
        return loss(x * 2, y, **keywords(name))

    compiled = torch.compile(program, fullgraph=True, backend=counter, dynamic=True)
    for shape in ((2, 3, 5, 6), (3, 3, 7, 4), (4, 3, 4, 9)):
        logits, labels = inputs(shape=shape)
        found, gradient = step(compiled, logits, labels)
        value, slope = step(program, logits, labels)
        torch.testing.assert_close(found, value, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(gradient, slope, rtol=1e-10, atol=1e-14)
    programs = [graph for graph in counter.graphs if any(node.op == "call_function" for node in graph.graph.nodes)]
    assert len(programs) == 1
    if backend == "auto":
        assert sum("torch.ops.exacta" in line for line in programs[0].code.splitlines()) == 1


def test_inductor():
    """The default compiler, on a program without anything that it would have to make C++ of."""
    torch._dynamo.reset()
    loss = losses.DiceCELoss(class_weight=[0.2, 1.0, 2.0])
    compiled = torch.compile(loss, fullgraph=True)
    logits, labels = inputs(torch.bfloat16, (2, 3, 8, 9))
    logits = logits.contiguous(memory_format=torch.channels_last)
    found, gradient = step(compiled, logits, labels, mask=labels != 1)
    value, slope = step(loss, logits, labels, mask=labels != 1)
    assert torch.equal(found, value)
    assert torch.equal(gradient, slope)


def test_bad_labels_in_compiled_programs():
    torch._dynamo.reset()
    logits, labels = inputs(shape=(1, 3, 4, 4))
    native = torch.compile(losses.DiceLoss(), fullgraph=True, backend="aot_eager")
    with pytest.raises(ValueError, match="target"):
        native(logits, labels + 3)
    plain = torch.compile(losses.DiceLoss(backend="torch"), fullgraph=True, backend="aot_eager")
    assert torch.isnan(plain(logits, labels + 3))


def call(name, **more):
    """Arguments of the operator of a loss."""
    loss = made(name)
    shape = more.pop("shape", (2, 3, 4, 5))
    logits, labels = inputs(more.pop("dtype", torch.float32), shape)
    seen = []

    class StopError(Exception):
        pass

    def record(*arguments):
        seen.append(arguments)
        raise StopError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exacta.losses._kernels.loss_operator", record)
        patch.setattr(torch.compiler, "is_compiling", lambda: True)
        with pytest.raises(StopError):
            loss(logits, labels, **keywords(name), **more)
    return seen[0]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("name", ["dice ce weighted", "wasserstein gdl", "top-k", "lovasz", "boundary", "cldice"])
def test_opcheck(name):
    arguments = call(name)
    arguments[0].requires_grad_()
    torch.library.opcheck(torch.ops.exacta.loss.default, arguments)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_opcheck_of_the_others():
    mask = torch.rand(1, 2, 5, 6) < 0.5
    torch.library.opcheck(torch.ops.exacta.distance_maps.default, (mask, [1.0, 2.0], True))
    probs = torch.rand(1, 1, 5, 6, requires_grad=True)
    torch.library.opcheck(torch.ops.exacta.soft_skeleton.default, (probs, 2))


def test_settings_are_one_string():
    loss = losses.DiceFocalLoss(alpha=(0.1, 0.2, 0.7), smooth=(1, 2))
    assert _module.parameters(loss._all_settings())["alpha"] == [0.1, 0.2, 0.7]
    assert _module.parameters(loss._all_settings())["smooth"] == [1.0, 2.0]
    loss.alpha = 0.3
    assert _module.parameters(loss._all_settings())["alpha"] == 0.3


def test_second_derivative_of_a_compiled_kernel():
    arguments = call("dice ce")
    leaf = arguments[0].requires_grad_()
    value = torch.ops.exacta.loss.default(leaf, *arguments[1:])[0]
    (gradient,) = torch.autograd.grad(value, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="backend='torch'"):
        gradient.sum().backward()
