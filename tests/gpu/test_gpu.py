"""The searches of the gpu extra: the same pairs as on the CPU, whatever the arithmetic of the filter.

They run on DUELIST_TEST_DEVICE, by default "cpu", where PyTorch takes the same steps with operands rounded alike.
"""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import duelist as dl
from duelist import gpu
from duelist.gpu.device import contexts, search, sweep, whitening
from duelist.gpu.device.arithmetic import MODES

DEVICE = os.environ.get("DUELIST_TEST_DEVICE", "cpu")
RADII = (0.0, 0.5, 1e8)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Use one thread: the operations are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def precision_of(rng, dim, condition=100.0):
    q, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    matrix = (q * np.geomspace(1.0, condition, dim)) @ q.T
    return (matrix + matrix.T) / 2


def sphere(rng, n, dim):
    x = rng.normal(size=(n, dim))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def outlier(rng, n, dim):
    x = rng.normal(size=(n, dim))
    x[n // 2] *= 1e6
    return x


def repeated(rng, n, dim):
    return rng.normal(size=(7, dim))[rng.integers(7, size=n)]


def clusters(rng, n, dim):
    return 10.0 * rng.normal(size=(4, dim))[rng.integers(4, size=n)] + 1e-4 * rng.normal(size=(n, dim))


def rank_two(rng, n, dim):
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, dim))


ARMS = {
    "gaussian": lambda rng, n, dim: rng.normal(size=(n, dim)),
    "sphere": sphere,
    "outlier": outlier,
    "repeated": repeated,
    "all equal": lambda rng, n, dim: np.tile(rng.normal(size=dim), (n, 1)),
    "clusters": clusters,
    "rank two": rank_two,
    "tiny": lambda rng, n, dim: 1e-6 * rng.normal(size=(n, dim)),
    "huge": lambda rng, n, dim: 1e6 * rng.normal(size=(n, dim)),
    "vanishing": lambda rng, n, dim: 1e-160 * rng.normal(size=(n, dim)),
    "far away": lambda rng, n, dim: 1e6 + rng.normal(size=(n, dim)),
    "circle": lambda rng, n, dim: np.pad(sphere(rng, n, 2), ((0, 0), (0, dim - 2))),
}


def every_pair(arms, theta, precision, radius):
    """All values by definition, without factors, filters or kernels."""
    gaps = arms[:, None] - arms[None]
    widths = np.sqrt(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(precision), gaps), 0.0))
    u = arms @ theta
    return u[:, None] + u + radius * widths


@pytest.mark.parametrize("kind", ARMS)
@pytest.mark.parametrize(("n", "dim"), [(2, 2), (130, 3), (300, 20)])
def test_the_pair_is_that_of_the_cpu(kind, n, dim):
    rng = np.random.default_rng(n)
    arms, theta, precision = ARMS[kind](rng, n, dim), rng.normal(size=dim), precision_of(rng, dim)
    expected = {radius: dl.best_pair(arms, theta, precision, radius) for radius in RADII}
    widest = dl.widest_pair(arms, precision)
    for mode, pruned in itertools.product(MODES, (True, False)):
        how = {"device": DEVICE, "pruned": pruned, "matmul": mode}
        for radius in RADII:
            assert gpu.best_pair(arms, theta, precision, radius, **how) == expected[radius], (radius, how)
        assert gpu.widest_pair(arms, precision, **how) == widest, how


@pytest.mark.parametrize("kind", ["gaussian", "sphere", "clusters", "rank two"])
@pytest.mark.parametrize("radius", [0.0, 0.5, 3.0])
def test_no_pair_has_a_larger_value(kind, radius):
    rng = np.random.default_rng(1)
    arms, theta, precision = ARMS[kind](rng, 140, 6), rng.normal(size=6), precision_of(rng, 6)
    values = every_pair(arms, theta, precision, radius)
    i, j, value = gpu.best_pair(arms, theta, precision, radius, device=DEVICE)
    assert i <= j
    # The definition above cancels digits: 1e-9 allows for a condition number of 100 and cluster distances of 10.
    assert value == pytest.approx(values.max(), rel=1e-9)
    assert value == pytest.approx(values[i, j], rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("radius", [0.0, 1.0, 7.0])
def test_exact_ties_go_to_the_first_pair(mode, radius):
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))
    for theta in (np.zeros(8), np.arange(8.0)):
        for precision in (np.eye(8), np.diag(4.0 ** np.arange(8))):
            expected = dl.best_pair(corners, theta, precision, radius)
            assert gpu.best_pair(corners, theta, precision, radius, device=DEVICE, matmul=mode) == expected
    assert gpu.widest_pair(corners, np.eye(8), device=DEVICE, matmul=mode) == (0, 255, np.sqrt(32.0))


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 256, 257, 1024, 1025])
def test_sizes_around_tiles_and_blocks(n, monkeypatch):
    monkeypatch.setattr(search, "_PLAIN_BLOCK", {"cpu": 256, "cuda": 256})
    rng = np.random.default_rng(n)
    arms, theta, precision = rng.normal(size=(n, 4)), rng.normal(size=4), precision_of(rng, 4)
    # Put the best pair where a tile ends, in the last row and in the first.
    for far, near in ((0, n - 1), (max(n - 2, 0), n - 1), (min(127, n - 1), min(128, n - 1))):
        moved = arms.copy()
        moved[far], moved[near] = 20.0, -20.0
        expected = dl.best_pair(moved, theta, precision, 2.0)
        for pruned in (True, False):
            assert gpu.best_pair(moved, theta, precision, 2.0, device=DEVICE, pruned=pruned) == expected


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12, 1e15])
def test_ill_conditioned_precisions(condition):
    rng = np.random.default_rng(3)
    arms, theta, precision = rng.normal(size=(150, 6)), rng.normal(size=6), precision_of(rng, 6, condition)
    assert gpu.best_pair(arms, theta, precision, 1.0, device=DEVICE) == dl.best_pair(arms, theta, precision, 1.0)
    assert gpu.widest_pair(arms, precision, device=DEVICE) == dl.widest_pair(arms, precision)


def test_values_too_large_to_square_are_left_to_the_cpu():
    arms = np.array([[1e200, 0.0], [0.0, 1.0], [-1e200, 3.0]])
    with np.errstate(over="ignore"):
        expected = dl.best_pair(arms, [1.0, 1.0], np.eye(2), 0.0)
        assert gpu.best_pair(arms, [1.0, 1.0], np.eye(2), 0.0, device=DEVICE) == expected


def test_arms_may_be_tensors_of_either_precision():
    rng = np.random.default_rng(4)
    arms, theta, precision = rng.normal(size=(200, 5)), rng.normal(size=5), precision_of(rng, 5)
    single = arms.astype(np.float32)
    expected = dl.best_pair(single, theta, precision, 1.0)
    kept = torch.from_numpy(single).to(DEVICE)
    before = kept.clone()
    assert gpu.best_pair(kept, torch.from_numpy(theta), torch.from_numpy(precision), 1.0, device=DEVICE) == expected
    assert gpu.best_pair(single, theta, precision, 1.0, device=torch.device(DEVICE)) == expected
    assert torch.equal(kept, before)
    double = torch.from_numpy(arms).to(DEVICE).requires_grad_()
    assert gpu.best_pair(double, theta, precision, 1.0, device=DEVICE) == dl.best_pair(arms, theta, precision, 1.0)
    view = torch.from_numpy(arms).to(DEVICE)[::2]
    assert gpu.widest_pair(view, precision, device=DEVICE) == dl.widest_pair(arms[::2], precision)
    whole = torch.arange(6).reshape(3, 2)
    assert gpu.widest_pair(whole, np.eye(2), device=DEVICE) == dl.widest_pair(whole.numpy(), np.eye(2))


def test_pruning_leaves_out_most_pairs():
    rng = np.random.default_rng(5)
    arms = torch.from_numpy(rng.normal(size=(3000, 4))).to(DEVICE)
    given = whitening.whiten_arms(arms, torch.ones_like(arms[0]), torch.eye(4).to(arms), 1.0)
    few, all_pairs = (search.candidates(given, MODES["tf32"], pruned=pruned, kernel=False) for pruned in (True, False))
    assert torch.equal(few[0], all_pairs[0])
    assert few[1].pairs < 0.05 * all_pairs[1].pairs
    assert all_pairs[1].pairs >= 3000 * 2999 / 2


@pytest.mark.parametrize("mode", MODES.values(), ids=lambda mode: mode.name)
@pytest.mark.parametrize("kind", ["gaussian", "sphere", "outlier", "clusters", "far away"])
@pytest.mark.parametrize("part", [1.0, 0.999, 0.9])
def test_the_filter_misses_no_pair(mode, kind, part):
    """Every pair that reaches the threshold passes, even if sums have the largest error of the mode."""
    rng = np.random.default_rng(6)
    arms = torch.from_numpy(ARMS[kind](rng, 256, 9)).to(DEVICE)
    theta = torch.from_numpy(rng.normal(size=9)).to(DEVICE)
    given = whitening.whiten_arms(arms, theta, torch.eye(9).to(arms), 1.0)
    u, p = given.utilities, given.points
    values = u[:, None] + u + torch.linalg.vector_norm(p[:, None] - p, dim=2)
    floor = 2.0 * u.max()
    threshold = floor + part * (values.max() - floor)
    sides = sweep.operands(given, torch.arange(256).to(DEVICE), threshold, mode, 128, 1)
    x, y, a = sides.points.double(), sides.offsets.double(), sides.lifts.double()
    sizes = (x.norm(dim=1).square() + y.square()).sqrt()
    # the worst error of a sum of products in this mode
    worst = x @ x.T + y[:, None] * y + 9 * mode.unit * sizes[:, None] * sizes
    passes = a[:, None] + a - 2.0 * worst >= 0.0
    assert bool(passes[values >= threshold].all())


def noisy(size):
    """A product whose entries have an error of up to `size` times the sum of magnitudes."""
    rng = torch.Generator().manual_seed(0)

    def multiply(rows, columns, out):
        torch.mm(rows.cpu(), columns.T.cpu(), out=(exact := torch.empty(out.shape)))
        scale = rows.cpu().abs() @ columns.T.cpu().abs()
        out.copy_(exact + size * scale * torch.randint(0, 2, out.shape, generator=rng).mul(2).sub(1))
        return out

    return multiply


@pytest.mark.parametrize("mode", MODES.values(), ids=lambda mode: mode.name)
def test_the_largest_error_of_a_mode_does_not_change_the_result(mode, monkeypatch):
    monkeypatch.setattr(sweep, "_multiply", noisy(20 * mode.unit))
    monkeypatch.setattr("duelist.gpu.device.fused.available", lambda device, mode: False)
    rng = np.random.default_rng(7)
    for kind in ("gaussian", "sphere", "clusters"):
        arms, theta, precision = ARMS[kind](rng, 260, 20), rng.normal(size=20), precision_of(rng, 20)
        for radius in (0.5, 1e3):
            found = gpu.best_pair(arms, theta, precision, radius, device=DEVICE, pruned=False, matmul=mode.name)
            assert found == dl.best_pair(arms, theta, precision, radius)


def test_without_error_bounds_the_filter_misses_pairs(monkeypatch):
    """Errors of this size do matter on such arms, so the two tests above would notice them."""
    monkeypatch.setattr(sweep, "error", lambda dim, mode: -1e-6)
    rng = np.random.default_rng(8)
    missed = 0
    for _ in range(8):
        arms = sphere(rng, 100, 20)
        first, second, _ = dl.widest_pair(arms, np.eye(20))
        x, identity = torch.from_numpy(arms).to(DEVICE), torch.eye(20, dtype=torch.float64, device=DEVICE)
        given = whitening.whiten_arms(x, torch.zeros_like(x[0]), identity, 1.0)
        found = search.candidates(given, MODES["bfloat16"], pruned=False, kernel=False)[0].tolist()
        missed += not {first, second} <= set(found)
    assert missed


def test_precision_of_matrix_products_is_restored():
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    rng = np.random.default_rng(9)
    gpu.best_pair(rng.normal(size=(20, 3)), np.ones(3), np.eye(3), 1.0, device=DEVICE, matmul="tf32")
    assert settings.fp32_precision == before


CONTEXTS = {
    "gaussian": lambda rng, *shape: rng.normal(size=shape),
    "ties": lambda rng, *shape: rng.choice([-1.0, 1.0], size=shape),
    "equal": lambda rng, *shape: np.broadcast_to(rng.normal(size=shape[2]), shape),
    "repeated": lambda rng, *shape: rng.normal(size=(3, shape[2]))[rng.integers(3, size=shape[:2])],
    "tiny": lambda rng, *shape: 1e-6 * rng.normal(size=shape),
    "huge": lambda rng, *shape: 1e6 * rng.normal(size=shape),
    "vanishing": lambda rng, *shape: 1e-30 * rng.normal(size=shape),
    "beyond float32": lambda rng, *shape: 1e60 * rng.normal(size=shape),
    "far away": lambda rng, *shape: 1e6 + rng.normal(size=shape),
    "near ties": lambda rng, *shape: rng.choice([-1.0, 1.0], size=shape) * (1.0 + 1e-7 * rng.normal(size=shape)),
}


@pytest.mark.parametrize("kind", CONTEXTS)
@pytest.mark.parametrize(("n_arms", "dim"), [(1, 3), (2, 1), (5, 32), (9, 64)])  # kernels need multiples of 32
def test_every_context_gets_its_best_pair(kind, n_arms, dim):
    rng = np.random.default_rng(n_arms)
    arms = CONTEXTS[kind](rng, 15, n_arms, dim)
    theta, precision = rng.normal(size=dim), precision_of(rng, dim)
    for radius in RADII:
        chosen = gpu.best_pairs_in_contexts(arms, theta, precision, radius, device=DEVICE)
        for k, context in enumerate(arms):
            expected = dl.best_pair(context, theta, precision, radius)
            assert (int(chosen.first[k]), int(chosen.second[k])) == expected[:2], (radius, k)
            # Arms are subtracted before or after whitening: a few epsilon of their length remain.
            size = np.abs(context).max()
            width = dl.widest_pair(context[[*expected[:2]]], precision).value
            assert float(chosen.width[k]) == pytest.approx(width, rel=1e-12, abs=1e-15 * dim * size)
            slack = 1e-15 * dim * size * (radius + np.abs(theta).max())
            assert float(chosen.value[k]) == pytest.approx(expected.value, rel=1e-12, abs=slack)


def test_the_most_informative_contexts_have_the_widest_pairs():
    rng = np.random.default_rng(10)
    arms = rng.normal(size=(40, 4, 3))
    arms[7] = arms[3]
    chosen = gpu.best_pairs_in_contexts(arms, np.ones(3), np.eye(3), 1.0, device=DEVICE, k=5)
    order = np.argsort(-chosen.width.cpu().numpy(), kind="stable")
    assert chosen.informative.tolist() == order[:5].tolist()
    every = gpu.best_pairs_in_contexts(arms, np.ones(3), np.eye(3), 1.0, device=DEVICE).informative.tolist()
    assert every == order.tolist()
    assert every.index(3) + 1 == every.index(7)


def test_many_contexts_are_processed_in_parts(monkeypatch):
    rng = np.random.default_rng(11)
    arms = torch.from_numpy(rng.normal(size=(50, 4, 3)).astype(np.float32)).to(DEVICE)
    whole = gpu.best_pairs_in_contexts(arms, np.ones(3), np.eye(3), 1.0, device=DEVICE)
    monkeypatch.setattr(contexts, "_CHUNK", 200)
    parts = gpu.best_pairs_in_contexts(arms, np.ones(3), np.eye(3), 1.0, device=DEVICE)
    assert all(torch.equal(a, b) for a, b in zip(whole[:2], parts[:2], strict=True))
    torch.testing.assert_close(whole.width, parts.width, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_of_norms_hold(seed):
    rng = np.random.default_rng(seed)
    matrix = torch.from_numpy(rng.normal(size=(30, 30)) * np.geomspace(1e-3, 1e3, 30)).to(DEVICE)
    true = float(np.linalg.norm(matrix.cpu().numpy(), 2))
    assert true <= float(whitening.spectral_norm_bound(matrix)) <= 1.2 * true
    assert float(np.linalg.norm(np.abs(matrix.cpu().numpy()), 2)) <= float(whitening.absolute_norm_bound(matrix))


GOOD = {"arms": [[0.0, 1.0], [1.0, 0.0]], "theta": [1.0, 0.0], "precision": [[2.0, 0.0], [0.0, 1.0]], "radius": 1.0}
BAD = [
    ({"arms": [1.0, 2.0]}, r"arms.*\(2,\).*\(n_arms, dim\)"),
    ({"arms": torch.zeros(2)}, r"arms.*\(2,\).*\(n_arms, dim\)"),
    ({"arms": torch.zeros((0, 2))}, r"arms.*\(0, 2\)"),
    ({"arms": [[0.0, np.nan], [1.0, 0.0]]}, r"arms\[0, 1\] is nan"),
    ({"arms": torch.tensor([[0.0, 1.0], [torch.inf, 0.0]])}, r"arms\[1, 0\] is inf. Give finite features"),
    ({"arms": torch.tensor([[0.0, 1.0], [torch.nan, 0.0]])}, r"arms\[1, 0\] is nan. Give finite features"),
    ({"arms": torch.zeros((2, 2), dtype=torch.complex64)}, "arms.*complex64"),
    ({"arms": "up"}, "arms is 'up'"),
    ({"precision": np.eye(3)}, r"precision.*\(3, 3\).*\(2, 2\)"),
    ({"precision": [[1.0, 0.5], [0.0, 1.0]]}, "precision.*symmetric"),
    ({"precision": torch.tensor([[1.0, 2.0], [2.0, 1.0]])}, "precision is not positive definite"),
    ({"theta": [1.0]}, r"theta.*\(1,\).*2"),
    ({"theta": torch.tensor([1.0, torch.nan])}, r"theta\[1\] is nan"),
    ({"radius": -1.0}, "radius is -1.0"),
    ({"radius": None}, "radius is None"),
    ({"matmul": "float16"}, 'matmul is \'float16\'.*"float32", "tf32", "bfloat16"'),
    ({"matmul": None}, "matmul is None"),
    ({"device": "gpu"}, 'device is \'gpu\'.*"cuda", "cpu"'),
    ({"device": 1.5}, "device is 1.5"),
    ({"device": "meta"}, "device is 'meta'"),
]


@pytest.mark.parametrize(("bad", "named"), BAD)
def test_invalid_input_raises_errors(bad, named):
    with pytest.raises(dl.InvalidInput, match=named):
        gpu.best_pair(**({"device": DEVICE} | GOOD | bad))


@pytest.mark.parametrize(("bad", "named"), [case for case in BAD if not {"theta", "radius"} & case[0].keys()])
def test_invalid_input_of_widest_pair(bad, named):
    given = {"device": DEVICE} | GOOD | bad
    with pytest.raises(dl.InvalidInput, match=named):
        gpu.widest_pair(**{name: given[name] for name in given if name not in ("theta", "radius")})


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"arms": GOOD["arms"]}, r"arms.*\(2, 2\).*\(contexts, n_arms, dim\)"),
        ({"arms": torch.tensor([[[0.0, 1.0]], [[torch.nan, 0.0]]])}, r"arms\[1, 0, 0\] is nan"),
        ({"arms": torch.tensor([[[0.0, 1.0]], [[-torch.inf, 0.0]]])}, r"arms\[1, 0, 0\] is -inf"),
        ({"theta": [1.0]}, r"theta.*\(1,\).*2"),
        ({"radius": -1.0}, "radius is -1.0"),
        ({"k": 2}, "k is 2. Give a whole number from 0 to 1"),
        ({"k": -1}, "k is -1"),
        ({"k": 0.5}, "k is 0.5"),
        ({"k": True}, "k is True"),
    ],
)
def test_invalid_input_of_contexts(bad, named):
    with pytest.raises(dl.InvalidInput, match=named):
        gpu.best_pairs_in_contexts(**({"device": DEVICE} | GOOD | {"arms": [GOOD["arms"]]} | bad))


@pytest.mark.parametrize("dim", [2, 32])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_one_bad_entry_in_many_contexts_is_found(dim, bad, kind):
    arms = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 3, dim))).to(DEVICE, kind)
    arms[33, 1, dim - 1] = bad
    with pytest.raises(dl.InvalidInput, match=rf"arms\[33, 1, {dim - 1}\] is {bad}"):
        gpu.best_pairs_in_contexts(arms, np.ones(dim), np.eye(dim), 1.0, device=DEVICE)


def test_a_missing_gpu_raises_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(dl.InvalidInput, match=r'sees no CUDA GPU.*Give "cpu"'):
        gpu.best_pair(**GOOD, device="cuda")


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_duelist_imports_no_torch():
    done = run_python("import sys, duelist; sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_a_missing_torch_names_the_extra():
    done = run_python("import sys; sys.modules['torch'] = None; import duelist; import duelist.gpu")
    assert done.returncode == 1
    assert "duelist.core.errors.MissingExtra: torch is required for duelist.gpu" in done.stderr
    assert "pip install 'duelist[gpu]'" in done.stderr
