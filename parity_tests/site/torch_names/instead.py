"""JAX expressions for torch's functions that `jaxgrad.functional` lacks.

The test evaluates both expressions and compares their values and gradients. `x` and `y` are 2 x 3
arrays, `z` has 3 elements, and `m` is 3 x 3.
"""

# Functions of `torch`: they only move or repeat values, or another function has the gradient.
FUNCTIONS = {
    "adjoint": ("torch.adjoint(x)", "functional.conj(x).mT"),
    "as_strided": ("torch.as_strided(x, (2,), (3,))", "x.reshape(-1)[0:6:3]"),
    "atleast_1d": ("torch.atleast_1d(z)", "jnp.atleast_1d(z)"),
    "atleast_2d": ("torch.atleast_2d(z)", "jnp.atleast_2d(z)"),
    "atleast_3d": ("torch.atleast_3d(z)", "jnp.atleast_3d(z)"),
    "block_diag": ("torch.block_diag(x, m)", "jax.scipy.linalg.block_diag(x, m)"),
    "broadcast_tensors": ("torch.broadcast_tensors(x, z)", "jnp.broadcast_arrays(x, z)"),
    "broadcast_to": ("torch.broadcast_to(z, (2, 3))", "jnp.broadcast_to(z, (2, 3))"),
    "cartesian_prod": (
        "torch.cartesian_prod(z, z[:2])",
        'jnp.stack(jnp.meshgrid(z, z[:2], indexing="ij"), -1).reshape(-1, 2)',
    ),
    "cat": ("torch.cat((x, y), 1)", "jnp.concatenate((x, y), 1)"),
    "cholesky": ("torch.cholesky(m @ m.mT)", "functional.linalg.cholesky(m @ m.mT)"),
    "chunk": ("x.chunk(2, 1)", "(x[:, :2], x[:, 2:])"),
    "clone": ("x.clone()", "x"),
    "column_stack": ("torch.column_stack((z, z))", "jnp.column_stack((z, z))"),
    "combinations": (
        "torch.combinations(z)",
        "jnp.stack([z[i] for i in jnp.triu_indices(3, 1)], 1)",
    ),
    "concat": ("torch.concat((x, y))", "jnp.concat((x, y))"),
    "concatenate": ("torch.concatenate((x, y))", "jnp.concatenate((x, y))"),
    "constant_pad_nd": ("torch.constant_pad_nd(x, (1, 1))", "functional.pad(x, (1, 1))"),
    "conv_tbc": (
        "torch.conv_tbc(x[:, None], m[:2, :, None], z[:1])",
        "functional.conv1d(x[:, None].transpose(1, 2, 0), m[:2, :, None].transpose(2, 1, 0), "
        "z[:1]).transpose(2, 0, 1)",
    ),
    "detach": ("x + y.detach()", "x + jax.lax.stop_gradient(y)"),
    "dsplit": ("x[None].dsplit([1])", "jnp.dsplit(x[None], [1])"),
    "dstack": ("torch.dstack((x, y))", "jnp.dstack((x, y))"),
    "feature_dropout": (
        "torch.feature_dropout(x, 0.5, False)",
        "functional.dropout1d(x, 0.5, training=False)",
    ),
    "flatten": ("x.flatten()", "x.reshape(-1)"),
    "fliplr": ("torch.fliplr(x)", "jnp.fliplr(x)"),
    "flipud": ("torch.flipud(x)", "jnp.flipud(x)"),
    "frobenius_norm": ("torch.frobenius_norm(x, (0, 1))", "functional.linalg.matrix_norm(x)"),
    "grid_sampler": (
        "torch.grid_sampler(x[None, None], y[None, None, :, :2], 0, 0, False)",
        "functional.grid_sample(x[None, None], y[None, None, :, :2], align_corners=False)",
    ),
    "hsplit": ("x.hsplit([1])", "jnp.hsplit(x, [1])"),
    "hstack": ("torch.hstack((x, y))", "jnp.hstack((x, y))"),
    "lu": ("torch.lu(m)[0]", "functional.linalg.lu_factor(m)[0]"),
    "meshgrid": ('torch.meshgrid(z, z, indexing="ij")', 'jnp.meshgrid(z, z, indexing="ij")'),
    "moveaxis": ("torch.moveaxis(x, 0, 1)", "jnp.moveaxis(x, 0, 1)"),
    "movedim": ("torch.movedim(x, 0, 1)", "jnp.moveaxis(x, 0, 1)"),
    "narrow": ("x.narrow(1, 1, 2)", "jax.lax.slice_in_dim(x, 1, 3, axis=1)"),
    "norm_except_dim": (
        "torch.norm_except_dim(x, 2, 0)",
        "functional.linalg.vector_norm(x, dim=1, keepdim=True)",
    ),
    "nuclear_norm": ("torch.nuclear_norm(x)", 'functional.linalg.matrix_norm(x, "nuc")'),
    "permute": ("x.permute(1, 0)", "jnp.permute_dims(x, (1, 0))"),
    "ravel": ("x.ravel()", "x.ravel()"),
    "reshape": ("x.reshape(3, 2)", "x.reshape(3, 2)"),
    "resolve_conj": ("x.resolve_conj()", "x"),
    "resolve_neg": ("x.resolve_neg()", "x"),
    "rot90": ("torch.rot90(x)", "jnp.rot90(x)"),
    "row_stack": ("torch.row_stack((x, y))", "jnp.vstack((x, y))"),
    "rsub": ("torch.rsub(x, y)", "functional.sub(y, x)"),
    "segment_reduce": (
        'torch.segment_reduce(z, "sum", lengths=torch.tensor([2, 1]))',
        "jax.ops.segment_sum(z, jnp.array([0, 0, 1]), 2)",
    ),
    "select": ("x.select(1, 2)", "x[:, 2]"),
    "split": ("x.split(2, 1)", "jnp.split(x, [2], 1)"),
    "split_with_sizes": ("x.split_with_sizes([2, 1], 1)", "jnp.split(x, [2], 1)"),
    "squeeze": ("x[None].squeeze(0)", "jnp.squeeze(x[None], 0)"),
    "stack": ("torch.stack((x, y), 1)", "jnp.stack((x, y), 1)"),
    "t": ("x.t()", "x.T"),
    "tensor_split": ("x.tensor_split(2, 1)", "jnp.array_split(x, 2, 1)"),
    "tile": ("torch.tile(x, (2, 1))", "jnp.tile(x, (2, 1))"),
    "unbind": ("x.unbind(1)", "jnp.unstack(x, axis=1)"),
    "unflatten": ("z.unflatten(0, (3, 1))", "z.reshape(3, 1)"),
    "unsafe_chunk": ("x.unsafe_chunk(2, 1)", "(x[:, :2], x[:, 2:])"),
    "unsafe_split": ("x.unsafe_split(2, 1)", "jnp.split(x, [2], 1)"),
    "unsafe_split_with_sizes": ("x.unsafe_split_with_sizes([2, 1], 1)", "jnp.split(x, [2], 1)"),
    "unsqueeze": ("x.unsqueeze(1)", "jnp.expand_dims(x, 1)"),
    "vsplit": ("x.vsplit([1])", "jnp.vsplit(x, [1])"),
    "vstack": ("torch.vstack((x, y))", "jnp.vstack((x, y))"),
    "linalg.diagonal": ("torch.linalg.diagonal(x)", "functional.diagonal(x, 0, -2, -1)"),
    "upsample_bilinear": (
        "F.upsample_bilinear(x[None, None], scale_factor=2)",
        'functional.interpolate(x[None, None], scale_factor=2, mode="bilinear", '
        "align_corners=True)",
    ),
    "upsample_nearest": (
        "F.upsample_nearest(x[None, None], scale_factor=2)",
        "functional.interpolate(x[None, None], scale_factor=2)",
    ),
}

# Methods of `torch.Tensor` that are not functions of `torch`.
METHODS = {
    "as_subclass": ("x.as_subclass(torch.Tensor)", "x"),
    "bfloat16": ("x.bfloat16().double()", "x.astype(jnp.bfloat16).astype(jnp.float64)"),
    "cdouble": ("x.cdouble().real", "x.astype(jnp.complex128).real"),
    "cfloat": ("x.cfloat().real.double()", "x.astype(jnp.complex64).real.astype(jnp.float64)"),
    "contiguous": ("x.contiguous()", "x"),
    "cpu": ("x.cpu()", "jax.device_put(x, jax.devices('cpu')[0])"),
    "double": ("x.double()", "x.astype(jnp.float64)"),
    "expand": ("z.expand(2, 3)", "jnp.broadcast_to(z, (2, 3))"),
    "expand_as": ("z.expand_as(x)", "jnp.broadcast_to(z, x.shape)"),
    "float": ("x.float().double()", "x.astype(jnp.float32).astype(jnp.float64)"),
    "half": ("x.half().double()", "x.astype(jnp.float16).astype(jnp.float64)"),
    "repeat": ("x.repeat(2, 1)", "jnp.tile(x, (2, 1))"),
    "reshape_as": ("x[:, :1].reshape_as(z[:2])", "x[:, :1].reshape(z[:2].shape)"),
    "sum_to_size": ("x.sum_to_size(1, 3)", "functional.sum(x, 0, keepdim=True)"),
    "to": ("x.to(torch.float32).double()", "x.astype(jnp.float32).astype(jnp.float64)"),
    "type": ("x.type(torch.float64)", "x.astype(jnp.float64)"),
    "type_as": ("x.type_as(y)", "x.astype(y.dtype)"),
    "view": ("x.view(3, 2)", "x.reshape(3, 2)"),
    "view_as": ("x[:, :1].view_as(z[:2])", "x[:, :1].reshape(z[:2].shape)"),
}

INSTEAD = FUNCTIONS | METHODS
