"""A torch call knows its arguments by name, and can be repeated with a mistake in it."""

import torch
from torch.nn import functional

from jaxgrad.parity.prove.causes.mistakes.call import TorchCall, tensors
from jaxgrad.parity.prove.wording import Difference, Setting
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import draw


NONE = Difference()
X, Y = draw(3, 4), draw(3, 4, seed=1)
CALL = TorchCall(functional.layer_norm, (X, (4,)), {"eps": 1e-3}, "layer_norm")


def test_the_arguments_are_known_by_name():
    """A function of torch's without a Python signature has its schema's; a wrong call has none."""
    assert list(CALL.bound) == ["input", "normalized_shape", "eps"]
    assert CALL.bound["input"] is X
    assert list(TorchCall(torch.add, (X, Y), {}, "add").bound) == ["input", "other"]
    assert TorchCall(lambda **names: X, (X,), {}, "add").bound == {}
    assert TorchCall(functional.layer_norm, (), {}, "layer_norm").bound == {}


def test_an_argument_is_replaced_by_name():
    """Other arguments stay, and the setting says what was changed."""
    wrong = CALL.replaced(Setting("eps", "1"), "1", eps=1.0)

    assert (wrong.mistake, wrong.setting) == ("eps is 1", "1")
    assert torch.equal(wrong.result, functional.layer_norm(X, (4,), eps=1.0))
    assert CALL.replaced(NONE).setting == "this change" and not CALL.replaced(NONE).mistake


def test_another_function_is_called_with_the_same_or_other_arguments():
    """Without arguments the call's own ones are kept; with some, its keywords are dropped."""
    call = TorchCall(torch.add, (X, Y), {"alpha": 2}, "add")

    assert torch.equal(call.by(NONE, torch.sub).result, X - 2 * Y)
    assert torch.equal(call.by(NONE, torch.sub, Y, X).result, Y - X)


def test_a_result_is_changed_and_an_edit_kept():
    """`then` changes the result, and `fixed` keeps both spellings as text."""
    assert torch.equal(CALL.then(NONE, torch.neg).result, -CALL.result)
    assert CALL.fixed(1, 2.5).fix == ("1", "2.5")


def test_a_call_that_changes_its_operands_leaves_the_originals():
    """Operands are copied in lists, tuples and dicts, so an in-place call can be repeated."""

    def doubled(xs, *, pair, options):
        return [x.mul_(2) for x in (*xs, *pair, options["x"])]

    x, y, z = X.clone(), Y.clone(), X + Y
    call = TorchCall(doubled, ([x],), {"pair": (y,), "options": {"x": z}}, "doubled")

    for _ in range(2):
        assert all(map(torch.equal, call.result, (2 * X, 2 * Y, 2 * (X + Y))))
    assert torch.equal(x, X)


def test_the_floating_tensors_of_nested_arguments_are_found():
    """Real and complex tensors count, integers and other arguments do not."""
    z = torch.complex(X, Y)
    tree = ([X, 3], {"a": z, "b": (Y, "text")}, torch.arange(3))

    assert [id(x) for x in tensors(tree)] == [id(X), id(z), id(Y)]
    assert tensors("text") == []


def test_a_call_that_is_made_changes_the_buffers_and_no_operand_with_a_gradient():
    """A batch norm with another eps updates the running statistics as torch's own call does."""
    x = torch.randn(5, 3, dtype=torch.float64).requires_grad_() * 1.0
    own, other = ([torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]
                  for _ in range(2))  # fmt: skip
    batch_norm = torch.nn.functional.batch_norm
    batch_norm(x, *own, training=True)
    wrong = TorchCall(batch_norm, (x, *other), {"training": True, "eps": 0.1}, "batch_norm")

    wrong.result.sum().backward(retain_graph=True)
    assert not other[0].any()  # a call that is tried changes nothing
    wrong.made().sum().backward()
    torch.testing.assert_close(other, own)
    assert torch.equal(TorchCall(torch.Tensor.mul_, (x, 2.0), {}, "mul").made(), 2 * x)
