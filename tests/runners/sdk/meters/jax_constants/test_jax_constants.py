"""Work on constants alone, which XLA does while compiling, by the real JAX on the CPU."""

import pytest

from perfledger import step_work

SIZE = 64


def incomplete(result):
    return {count.name for count in result.counts if not count.is_complete}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "share"),
    [
        ("nothing else", "100 %"),
        ("a part", "50 %"),
        ("of an inner function", "50 %"),
        ("given to an inner function", "50 %"),
        *(
            pytest.param(case, share, marks=pytest.mark.slow(ci_only=True))
            for case, share in (
                ("in a checkpoint", "50 %"),
                ("beside a derivative", "50 %"),
                ("beside a transposed derivative", "50 %"),
                ("in a branch", "50 %"),
            )
        ),
    ],
)
def test_work_on_constants_alone_is_done_while_compiling(jax, count, case, share):
    x = jax.numpy.ones((SIZE, SIZE))
    with_jvp = jax.custom_jvp(lambda c: (x @ x) @ c)
    with_jvp.defjvp(lambda values, tangents: (with_jvp(*values), tangents[0]))
    with_vjp = jax.custom_vjp(lambda c: (x @ x) @ c)
    with_vjp.defvjp(lambda c: (with_vjp(c), None), lambda _, gradient: (gradient,))
    steps = {
        "nothing else": lambda _: x @ x,
        "a part": lambda b: (x @ x) @ b,
        "of an inner function": jax.jit(lambda c: (x @ x) @ c),
        "given to an inner function": lambda b: jax.jit(lambda a, c: (a @ a) @ c)(x, b),
        "in a checkpoint": jax.checkpoint(lambda c: (x @ x) @ c),
        "beside a derivative": with_jvp,
        "beside a transposed derivative": with_vjp,
        "in a branch": lambda b: jax.lax.cond(b.sum() > 0, lambda c: (x @ x) @ c, lambda c: c, b),
    }
    folded = jax.jit(steps[case])

    found_count = count(lambda: folded(x))

    (limit,) = found_count.limits
    assert limit == (
        f"XLA does {share} of a program's work once, while compiling, as it depends on constants "
        "alone: pass the arrays as arguments"
    )
    assert step_work.FLOPS in incomplete(found_count)


@pytest.mark.slow
def test_masks_tables_and_loops_on_constants_keep_a_count_complete(jax, count):
    x, table = jax.numpy.ones((SIZE, SIZE)), jax.numpy.ones((SIZE, SIZE))

    def model(a):
        mask = jax.numpy.tril(jax.numpy.ones((SIZE, SIZE)))
        looped, _ = jax.lax.scan(lambda b, _: (b @ b, None), table, length=4)
        return (a @ a) * mask + table.cumsum(0) + looped

    found_count = count(lambda: jax.jit(model)(x))

    assert incomplete(found_count) == set(), found_count.limits
