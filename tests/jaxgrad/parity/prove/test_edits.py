"""A change of one source line is suggested only where it is unambiguous."""

import textwrap

import pytest

from jaxgrad.parity.prove import edits


CODE = textwrap.dedent(
    """\
    def norm(x, eps=1e-6):
        y = x / jnp.sqrt(var(x) + eps)
        return jax.nn.silu(y)

    def loss(p, x):
        z = lax.stop_gradient(net(p, x) + 1)  # silu
        w = jax.lax.stop_gradient(x)
        return jnp.cos(z).std(axis=0) + jnp.cos(w) + conv(x, "SAME")
    """
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "port.py"
    path.write_text(CODE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "wrong", "right", "number", "new"),
    [
        (1, "1e-06", "1e-05", 1, "def norm(x, eps=1e-05):"),
        (2, "1e-06", "1e-05", 1, "def norm(x, eps=1e-05):"),  # in the same function
        (3, "silu", "relu", 3, "    return jax.nn.relu(y)"),
        (6, "stop_gradient", "", 6, "    z = (net(p, x) + 1)  # silu"),
        (7, "stop_gradient", "", 7, "    w = x"),
        (8, "axis=0", "axis=1", 8, CODE.splitlines()[7].replace("axis=0", "axis=1")),
        (8, "'SAME'", "'VALID'", 8, CODE.splitlines()[7].replace('"SAME"', "'VALID'")),
    ],
)
def test_a_change_is_suggested(file, line, wrong, right, number, new):
    """Names, numbers, arguments and calls are replaced in the line or its function."""
    edit = edits.suggest(file, line, wrong, right)
    old = CODE.splitlines()[number - 1]

    assert edit == edits.Edit(file, number, old, new)
    assert str(edit) == f"{file}:{number}\n- {old.strip()}\n+ {new.strip()}"


@pytest.mark.parametrize(
    ("line", "wrong", "right"),
    [
        (8, "cos", "sin"),  # twice in the line
        (5, "stop_gradient", ""),  # twice in the function
        (8, "silu", "relu"),  # only in a comment, and in another function
        (8, "10", "20"),
        (99, "silu", "relu"),
        (3, "", ""),
    ],
)
def test_an_ambiguous_change_is_not_suggested(file, line, wrong, right):
    """Nothing is suggested where the code does not occur, or more than once."""
    assert edits.suggest(file, line, wrong, right) is None


@pytest.mark.parametrize(
    ("column", "wrong", "right", "new"),
    [
        (11, "mean", "sum", "    return jnp.sum(jnp.sum(f(x.mean(0)), 1))"),
        (20, "sum", "mean", "    return jnp.mean(jnp.mean(f(x.mean(0)), 1))"),
        (30, "mean", "sum", "    return jnp.mean(jnp.sum(f(x.sum(0)), 1))"),
        (28, "sum", "mean", None),  # `f` is the wrong sum
    ],
)
def test_only_the_call_at_a_column_is_changed(tmp_path, column, wrong, right, new):
    """If a line contains several calls of a kind, only the one that is wrong is changed."""
    path = tmp_path / "port.py"
    path.write_text("def loss(x):\n    return jnp.mean(jnp.sum(f(x.mean(0)), 1))\n")
    edit = edits.suggest(str(path), 2, wrong, right, column)

    assert (edit and edit.new) == new


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [
        ("y = stop()", "stop", []),  # a call without an argument
        ("y = stop(  )", "stop", []),
        ("y = stop(x", "stop", []),  # continued on the next line
        ("y = stop(x) + f(z)", "stop", ["y = x + f(z)"]),
        ("y = lax.stop(f(x)[0]) * 2", "stop", ["y = f(x)[0] * 2"]),
        ("y = 2 * stop(g(f(x)))", "stop", ["y = 2 * g(f(x))"]),
        ("y = 2 * stop(f(x) + f(z))", "stop", ["y = 2 * (f(x) + f(z))"]),
        ("y = 2 * stop(x := z)", "stop", ["y = 2 * (x := z)"]),
        ("y = stop(stop(x))", "stop", ["y = stop(x)", "y = stop(x)"]),
        ("y = nonstop(x)", "stop", []),
        ("y = x  # stop(x)", "stop", []),
    ],
)
def test_a_call_is_replaced_by_its_argument(text, name, lines):
    """Parentheses stay around an expression; a call that does not end in the line is left out."""
    assert edits._without_call(text, name) == lines


@pytest.mark.parametrize(
    ("text", "wrong", "right", "lines"),
    [
        ("x1 + 1.0 * a.1 + 10", "1", "2", ["x1 + 2 * a.1 + 10"]),
        ("eps=1e-6, 1E-06", "1e-06", "0", ["eps=0, 1E-06", "eps=1e-6, 0"]),
        ("axis=0  # axis=0", "axis=0", "axis=1", ["axis=1  # axis=0"]),
        ("axis=01", "axis=0", "axis=1", []),
        ("f('a', \"a\")", "'a'", "'b'", ["f('b', \"a\")", "f('a', 'b')"]),
        ('f("a")', "a", "b", ['f("b")']),
    ],
)
def test_each_occurrence_is_replaced_in_turn(text, wrong, right, lines):
    """Numbers are compared by value, names as whole words; comments are left alone."""
    assert edits._replaced(text, wrong, right, None) == lines


def test_the_lines_of_the_innermost_function_are_searched(tmp_path):
    """A nested function ends the search, and so does a file that is not Python."""
    path = tmp_path / "port.py"
    path.write_text("def f(x):\n    def g(y):\n        return y\n    return g(x)\nz = f(1)\n")
    assert edits.function_lines(str(path), 3) == [2, 3]
    assert edits.function_lines(str(path), 2) == [2, 3]
    assert edits.function_lines(str(path), 4) == [1, 2, 3, 4]
    assert edits.function_lines(str(path), 5) == [5]
    other = tmp_path / "other.py"
    other.write_text("def f(:\n")
    assert edits.function_lines(str(other), 1) == []


STOPPED = textwrap.dedent(
    """\
    def loss(p, x, r):
        t = r + 0.9 * q(p, x)
        t = r * (q(p, x) - 1)
        t = jnp.sum(q(p, x), 0) + q(p, x).mean()
        t = -q(p, x) + f(p, x)
        return (
            r + q(p,
                  x)
        )
    """
)


@pytest.mark.parametrize(
    ("span", "operand", "new"),
    [
        ((2, 12, 2, 25), 1, "t = r + 0.9 * jax.lax.stop_gradient(q(p, x))"),
        ((3, 8, 3, 25), 1, "t = r * jax.lax.stop_gradient(q(p, x) - 1)"),
        ((4, 8, 4, 27), 0, "t = jnp.sum(jax.lax.stop_gradient(q(p, x)), 0) + q(p, x).mean()"),
        ((4, 30, 4, 44), 0, "t = jnp.sum(q(p, x), 0) + jax.lax.stop_gradient(q(p, x)).mean()"),
        ((5, 8, 5, 16), 0, "t = -jax.lax.stop_gradient(q(p, x)) + f(p, x)"),
        ((5, 19, 5, 26), 0, None),  # two arguments may be arrays
        ((7, 8, 8, 16), 1, None),  # the operand has two lines
        ((2, 12, 2, 20), 1, None),  # no expression is there
    ],
)
def test_a_stop_gradient_is_suggested(tmp_path, span, operand, new):
    """One operand of an operator, or the array of a call, is wrapped."""
    path = tmp_path / "port.py"
    path.write_text(STOPPED)
    edit = edits.stop(str(path), [(span, operand)])

    assert (None if edit is None else edit.new.strip()) == new


def test_a_stop_gradient_has_the_name_that_the_file_imports(tmp_path):
    """A file that imports `lax` gets the short name."""
    path = tmp_path / "port.py"
    path.write_text("from jax import lax\ny = 2 * x\n")
    edit = edits.stop(str(path), [((2, 4, 2, 9), 1)])

    assert edit is not None and edit.new == "y = 2 * lax.stop_gradient(x)"


@pytest.mark.parametrize(
    ("uses", "new"),
    [
        ([((1, 4, 1, 9), 1), ((1, 12, 1, 17), 0)], "y = a * jax.lax.stop_gradient(b) + jax.lax."
         "stop_gradient(c) * d"),
        ([((1, 12, 1, 17), 0), ((1, 4, 1, 9), 1)], "y = a * jax.lax.stop_gradient(b) + jax.lax."
         "stop_gradient(c) * d"),
        ([((1, 4, 1, 9), 1), ((1, 4, 1, 9), 1)], "y = a * jax.lax.stop_gradient(b) + c * d"),
        ([((1, 4, 1, 17), 0), ((1, 4, 1, 9), 1)], None),  # one operand contains the other
        ([((1, 4, 1, 9), 1), ((2, 4, 2, 9), 1)], None),  # two lines
        ([((1, 4, 1, 9), 1), ((1, 0, 1, 3), 1)], None),  # the second is no expression
    ],
)  # fmt: skip
def test_several_stop_gradients_are_suggested_in_one_line(tmp_path, uses, new):
    """Each operand is wrapped once, in any order."""
    path = tmp_path / "port.py"
    path.write_text("y = a * b + c * d\nz = a * b\n")
    edit = edits.stop(str(path), uses)

    assert (None if edit is None else edit.new) == new


TORCH = textwrap.dedent(
    """\
    def forward(self, x):
        h = self.lin(x)
        y = h + x  # a sum
        print(h), self.norm(y)
        z = [
            y,
        ]
        w, v = h.detach(), torch.add(y.detach(), 1)
        u = torch.tanh(h.detach())
        é = "é", F.gelu(h)
        a, b = F.elu(h, alpha=2.0), F.elu(h)
        c = norm()
        return h * y
    """
)


@pytest.fixture
def torch_file(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(TORCH)
    return str(path)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (2, "    h = self.lin(x).detach()"),
        (3, "    y = (h + x).detach()  # a sum"),
        (4, None),  # neither assigned nor returned
        (5, None),  # more than one line
        (8, "    w, v = (h.detach(), torch.add(y.detach(), 1)).detach()"),
        (13, "    return (h * y).detach()"),
        (99, None),
    ],
)
def test_a_value_is_detached_where_it_is_assigned_or_returned(torch_file, line, new):
    """A proof rejects an edit that is no valid program, such as that of a tuple."""
    edit = edits.detached(torch_file, line)
    assert (edit and (edit.line, edit.new)) == (new and (line, new))


@pytest.mark.parametrize(("line", "new"), [(9, "    u = torch.tanh(h)"), (8, None), (2, None)])
def test_the_only_detach_of_a_line_is_left_out(torch_file, line, new):
    edit = edits.attached(torch_file, line)
    assert (edit and edit.new) == new


@pytest.mark.parametrize(
    ("line", "function", "text", "new"),
    [
        (10, "gelu", "approximate='tanh'", "    é = \"é\", F.gelu(h, approximate='tanh')"),
        (12, "norm", "eps=1e-06", "    c = norm(eps=1e-06)"),
        (11, "elu", "alpha=3.0", None),  # two calls
        (9, "relu", "inplace=True", None),
        (3, "add", "alpha=2", None),  # an operator
    ],
)
def test_an_argument_is_added_to_the_only_call_of_a_function(torch_file, line, function, text, new):
    edit = edits.argument(torch_file, line, function, text)
    assert (edit and edit.new) == new


def test_an_argument_that_a_call_has_is_not_added(tmp_path):
    path = tmp_path / "model.py"
    path.write_text("def forward(h):\n    return F.elu(h, alpha=2.0)\n")
    assert edits.argument(str(path), 2, "elu", "alpha=3.0") is None


@pytest.mark.parametrize(
    ("code", "right", "new"),
    [
        ("jax.nn.gelu(h)", "approximate=False", "jax.nn.gelu(h, approximate=False)"),
        ("gelu(h, approximate=True)", "approximate=False", "gelu(h, approximate=False)"),
        ("gelu(gelu(h))", "approximate=False", None),
        ("gelu(h, approximate=False)", "approximate=False", None),
        ("act(h)", "approximate=False", None),
        ("gelu(h, 1.0)", "alpha=0.5", "gelu(h, 0.5)"),
        ("gelu(h, 1.0, 2.0)", "alpha=0.5", "gelu(h, 1.0, 2.0, alpha=0.5)"),
    ],
)
def test_an_argument_is_given_to_a_call_or_gets_another_value(tmp_path, code, right, new):
    """The line may also be another one of the same function."""
    path = tmp_path / "port.py"
    path.write_text(f"def port(p, x):\n    h = x @ p\n    h = {code}\n    return h\n")
    found = [edits.suggest(str(path), line, "gelu", right) for line in (3, 4)]

    expected = None if new is None else f"    h = {new}"
    assert [edit and edit.new for edit in found] == [expected, expected]
