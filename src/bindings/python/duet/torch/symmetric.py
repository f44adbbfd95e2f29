"""torch.ops.symm_mem's fused operators by Duet, with their arguments and results. Unlike these they
have gradients. A communicator of the group is opened at the first call."""
from ..errors import BadArgument
from .operators import all_gather, all_gather_matmul, matmul_reduce_scatter, reduce_scatter


def fused_all_gather_matmul(A, Bs, gather_dim, group_name, *, return_A=True):
    """(A of all ranks joined in gather_dim, or None, [that @ B, ...])."""
    _check(A, gather_dim, "gather_dim")
    moved = A.movedim(gather_dim, 0)
    if gather_dim == A.dim() - 1:  # columns of each rank, of which no product can be made
        rows = all_gather(moved, group_name).movedim(0, gather_dim)
        return rows if return_A else None, [rows @ B for B in Bs]
    products = all_gather_matmul(moved, list(Bs), group_name, return_rows=return_A)
    products, rows = products if return_A else (products, None)
    return (None if rows is None else rows.movedim(0, gather_dim),
            [product.movedim(0, gather_dim) for product in products])


def fused_matmul_reduce_scatter(A, B, reduce_op, scatter_dim, group_name):
    """A @ B reduced over ranks ("sum", "avg"), of which each gets its part of scatter_dim."""
    _check(A, scatter_dim, "scatter_dim")
    if reduce_op not in ("sum", "avg"):
        raise BadArgument(f"reduce_op {reduce_op!r}: expected sum, avg")
    if scatter_dim == A.dim() - 1:
        made = reduce_scatter((A @ B).movedim(scatter_dim, 0), group_name, reduce_op)
        return made.movedim(0, scatter_dim)
    made = matmul_reduce_scatter(A.movedim(scatter_dim, 0), B, group_name)
    if reduce_op == "avg":
        made = made * (made.shape[0] / A.shape[scatter_dim])
    return made.movedim(0, scatter_dim)


def _check(A, dim, name):
    if not 0 <= dim < A.dim() or A.dim() < 2:
        raise BadArgument(f"{name} {dim} of {tuple(A.shape)}: expected a dimension of a matrix, or of a "
                          "batch of them")
