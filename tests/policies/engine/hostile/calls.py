"""Every function of the engine with arguments that fit one another, but for one or two that somebody damaged."""

import functools

import native_testing as parts
import numpy as np

import duelist as dl
from duelist import native
from duelist.core.seeds import seed_words
from duelist.policies import POLICIES
from duelist.policies.counting import COUNTING_POLICIES
from tests.policies.engine.hostile import values

REFUSALS = (TypeError, ValueError, MemoryError, OverflowError, RuntimeError, dl.DuelistError)
LINKS = ("logistic", "probit", "exponential")
NAMES = tuple(POLICIES)
COUNTING = tuple(COUNTING_POLICIES)


class Given:
    """Honest arguments of one case."""

    def __init__(self, rng):
        self.rng = rng
        self.dim = int(rng.integers(1, 6))
        self.n = int(rng.choice([1, 2, 3, 7, 20, 300]))
        self.link = LINKS[rng.integers(3)]
        self.words = seed_words(int(rng.integers(100)))

    def normal(self, *shape):
        return self.rng.normal(size=shape)

    @property
    def factor(self):
        return np.triu(self.normal(self.dim, self.dim), 1) + 2.0 * np.eye(self.dim)

    @property
    def pairs(self):
        return self.rng.integers(self.n, size=(int(self.rng.integers(3)), 2))

    def rows(self, n=16):
        mass = np.abs(self.normal(n))
        return self.normal(self.dim, n), mass, mass * 0.5

    def policy(self):
        name = NAMES[self.rng.integers(len(NAMES))]
        estimator = ("exact", "online")[self.rng.integers(2)]
        return POLICIES[name](horizon=50, link=self.link, estimator=estimator, random_state=1)

    def state(self):
        return self.policy().initial_state(self.words, self.normal(self.n, self.dim))

    def player(self):
        policy = self.policy()
        arms = self.normal(5, self.dim)
        for _ in range(3):
            policy.tell(policy.ask(arms), 1.0)
        policy.ask(arms)
        return policy._player


def _counting(given):
    return COUNTING_POLICIES[COUNTING[given.rng.integers(len(COUNTING))]](horizon=50, random_state=1)


def _counting_player(given):
    """One that has counted a few votes, with duels out."""
    policy = _counting(given)
    for _ in range(12):
        policy.tell(policy.ask(5, distinct=False), float(given.rng.integers(2)))
    policy.ask(5)
    return policy._player


def _counting_rule_damaged(given):
    policy = _counting(given)
    settings = policy.rule_settings()
    for name in settings:
        if given.rng.random() < 0.3:
            settings[name] = values.damaged(given.rng, float(settings[name]))
    return policy.rule_name or type(policy).__name__, settings


def _counts_damaged(given):
    arrays = _counting_player(given).arrays()
    for name in arrays:
        if given.rng.random() < 0.2:
            arrays[name] = values.damaged(given.rng, arrays[name])
    return [arrays]


def _settings(given):
    return NAMES[given.rng.integers(len(NAMES))], given.policy().rule_settings()


def _settings_damaged(given):
    policy = given.policy()
    settings = policy.rule_settings()
    for name in settings:
        if given.rng.random() < 0.3:
            settings[name] = values.damaged(given.rng, float(settings[name]))
    return type(policy).__name__, settings


def _play_arguments(given, runs=2, rounds=3, horizon=4):
    log = [np.zeros((runs, horizon), kind) for kind in ("i4", "i4", "i1", "u1", "f8", "f8")]
    n = given.n
    return [
        0, runs, native.VoteModel(given.link, False, np.zeros((0, 0)), 0, 0.0), given.normal(1, rounds, n, given.dim),
        np.full((1, rounds), n), given.normal(1, rounds, n), given.rng.random((runs, rounds)), bool(given.rng.integers(2)),
        0, *log,
    ]  # fmt: skip


def _runs(given, runs=2):
    policy = given.policy()
    return native.SimulatedRuns(
        policy.make_rule(), [policy.initial_state(given.words, given.normal(3, given.dim))] * runs
    )


def _arrays(given):
    policy = given.policy()
    arms = given.normal(4, given.dim)
    for _ in range(6):
        policy.tell(policy.ask(arms), 1.0)
    arrays = policy._player.state.arrays()
    for name in arrays:
        if given.rng.random() < 0.1:
            arrays[name] = values.damaged(given.rng, arrays[name])
    return [given.dim, policy._player.state.n_layers, policy.link, policy.online_, arrays]


def _pair_counts(given):
    player = given.player()
    arrays = player.pair_counts() or {
        "arms": given.normal(5, given.dim),
        "first": np.arange(4),
        "second": np.arange(1, 5),
        "mass": np.ones(4),
        "wins": np.ones(4),
    }
    for name in arrays:
        if given.rng.random() < 0.3:
            arrays[name] = values.damaged(given.rng, arrays[name])
    return player.set_pair_counts, [arrays]


VARIANCES = np.array([[1.0, 1.0, 0.0], [0.25, 0.5, -0.1]])
"""Two candidate prior variances of arm effects and of features, with log weights."""


def _arm_effects(given):
    """What is known of arms with arm effects after a few votes."""
    known = native.new_arm_effects(given.link, given.normal(given.n, given.dim), VARIANCES, 4, given.words)
    for _ in range(6):
        known.learn(*given.rng.integers(9, size=2).tolist(), given.normal(given.dim), 1.0, 1.0)
    return known


def _own_arrays(given):
    models = _arm_effects(given).arrays()
    for arrays in models:
        for name in arrays:
            if given.rng.random() < 0.1:
                arrays[name] = values.damaged(given.rng, arrays[name])
    return [given.link, models, given.words]


def _free_rule(given):
    policy = POLICIES[("BestArmPair", "LocalPairUCB", "RankingPair", "UniformPair", "VACDB")[given.rng.integers(5)]]
    return policy(horizon=50, link=given.link).make_rule()


FUNCTIONS = {
    "new_arm_effects": lambda g: [g.link, g.normal(g.n, g.dim), VARIANCES, 4, g.words],
    "restore_arm_effects": _own_arrays,
    "make_selection_rule": _settings_damaged,
    "set_duel_class": lambda g: [(dl.Duel, int, type, str, object, dict)[g.rng.integers(6)]],
    "new_policy_state": lambda g: [g.dim, g.link, False, g.words, 0.2, 1.0, 2.0, 1.0, 1.0],
    "restore_policy_state": _arrays,
    "selection_rule_names": lambda g: [],
    "make_counting_rule": _counting_rule_damaged,
    "counting_rule_names": lambda g: [],
    "arm_spread": lambda g: [g.normal(g.n, g.dim)],
    "utilities": lambda g: [g.normal(g.n, g.dim), g.normal(g.dim)],
    "link_values": lambda g: [g.link, ("mean", "slope", "potential")[g.rng.integers(3)], g.normal(g.n)],
    "max_slope": lambda g: [g.link],
    "solve": lambda g: [
        ("newton", "agd", "svrg", "online")[g.rng.integers(4)], *g.rows(), 0.5, g.link, np.zeros(g.dim), 1e-9, 20, g.words,
    ],
    "gradient": lambda g: [*g.rows(), 0.5, g.link, g.normal(g.dim)],
    "best_pair": lambda g: [
        g.normal(g.n, g.dim).astype(("f4", "f8")[g.rng.integers(2)]), g.normal(g.dim), g.factor, 0.7,
    ],
    "widest_pair": lambda g: [g.normal(g.n, g.dim), g.factor],
    "cholesky_factor": lambda g: [g.factor.T @ g.factor],
    "vector_extension": lambda g: [],
    "vector_extensions": lambda g: [],
    "use_vector_extension": lambda g: [("baseline", "avx2", "avx512", "")[g.rng.integers(4)]],
}  # fmt: skip

PARTS = {
    "exp_neg_abs": lambda g: [g.normal(g.n)],
    "log": lambda g: [g.normal(g.n)],
    "log1p": lambda g: [g.normal(g.n)],
    "erfc": lambda g: [g.normal(g.n)],
    "cos_2pi": lambda g: [g.normal(g.n)],
    "draw_betas": lambda g: [g.words, 1.0 + abs(g.rng.normal()), 1.0 + 99.0 * g.rng.random(), 5],
    "draw": lambda g: [g.words, ("uniform", "gumbel", "normal", "below")[g.rng.integers(4)], 5, 7],
    "dot": lambda g: [g.normal(g.n), g.normal(g.n)],
    "cholesky_update": lambda g: [g.factor, g.normal(g.dim), 0.5],
    "cholesky_updates": lambda g: [g.factor, g.normal(g.n, g.dim), np.abs(g.normal(g.n))],
    "cholesky_update_both": lambda g: [g.factor, 0.5, g.factor, 0.2, g.normal(g.dim)],
    "solve_lower": lambda g: [g.factor, g.normal(g.dim)],
    "solve_upper": lambda g: [g.factor, g.normal(g.dim)],
    "multiply": lambda g: [g.factor, g.normal(g.dim)],
    "whiten": lambda g: [g.factor, g.normal(g.n, g.dim)],
    "utilities_and_columns": lambda g: [g.normal(g.n, g.dim), g.normal(g.dim), g.factor, g.rng.integers(g.n, size=4)],
    "argmax": lambda g: [g.normal(g.n)],
    "squared_widths": lambda g: [g.normal(g.dim, g.n), 0, 1],
    "best_pair_candidates": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5],
    "local_bonus_radius": lambda g: [0.3, 0.1, g.link, 1.2, 100.0],
    "objective": lambda g: [*g.rows(), 0.5, g.link, g.normal(g.dim)],
    "curvature": lambda g: [*g.rows(), 0.5, g.link, g.normal(g.dim), 0.0],
    "residuals_and_slopes": lambda g: [g.normal(g.n), g.normal(g.n), g.normal(g.n), g.link],
    "full_step_is_safe": lambda g: [g.link, g.normal(g.n), g.normal(g.n)],
    "smoothness": lambda g: [*g.rows()[:2], 0.5, g.link],
    "residual_sum": lambda g: [*g.rows(), g.link, g.normal(g.dim)],
    "implicit_step": lambda g: [g.link, 0.3, 0.5, 1.0, 0.5, 100],
    "one_pass_step": lambda g: [g.normal(g.dim), g.factor, g.normal(g.dim), 1.0, 0.5, g.link, 2.0],
    "project": lambda g: [g.normal(g.dim), g.factor, 0.5],
    "refine": lambda g: [*g.rows(), 0.5, g.link, g.normal(g.dim), g.factor],
    "learn_rows": lambda g: [g.normal(g.n, g.dim), np.abs(g.normal(g.n)), g.rng.random(g.n), 0.5, g.link, False, 2.0, False],
    "best_pair": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5, bool(g.rng.integers(2)), g.pairs],
    "widest_pair": lambda g: [g.normal(g.dim, g.n), bool(g.rng.integers(2)), g.pairs],
    "best_wide_pair": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5, bool(g.rng.integers(2)), g.pairs],
    "any_wider": lambda g: [g.normal(g.dim, g.n), 0.5, g.pairs],
    "random_wide_pair": lambda g: [g.normal(g.dim, g.n), 0.5, g.words, g.pairs],
    "challenger": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0, 0.5, bool(g.rng.integers(2)), g.pairs],
    "undominated": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5],
    "best_local_pair": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), g.link, 1.2, 50.0, bool(g.rng.integers(2)), g.pairs],
    "search_best": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5, 1.0, bool(g.rng.integers(2)), g.pairs],
    "search_widest": lambda g: [g.normal(g.dim, g.n), 1.0, bool(g.rng.integers(2)), g.pairs],
    "search_wider": lambda g: [g.normal(g.dim, g.n), 0.5, 1.0, bool(g.rng.integers(2)), g.pairs],
    "search_best_wide": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5, 1.0, bool(g.rng.integers(2)), g.pairs],
    "search_random_wide": lambda g: [g.normal(g.dim, g.n), 0.5, g.words, 1.0, g.pairs],
    "search_undominated": lambda g: [g.normal(g.n), g.normal(g.dim, g.n), 0.5, 1.0],
    "effective_horizon": lambda g: [100, 5],
    "layers_for": lambda g: [0.01],
    "practical_radius": lambda g: [g.dim, 100.0],
    "warmed_glm_radius": lambda g: [g.dim, 100.0, 0.2, 0.05],
    "stagewise_radius": lambda g: [g.n, 100.0, 0.2, 0.05],
    "variance_aware_radius": lambda g: [2, 1.0, 0.2, 5, 7, 0.05],
    "log_loss_radius": lambda g: [g.dim, 5, 1.0, 1.0, 1.0, 0.05],
}  # fmt: skip

# The object, and the arguments of one of its methods.
METHODS = {
    ("LivePolicy", "__init__"): lambda g: (native.LivePolicy, [g.policy().make_rule()]),
    ("LivePolicy", "begin"): lambda g: (g.player().begin, [g.state()]),
    ("LivePolicy", "ask"): lambda g: (g.player().ask, [g.normal(g.n, g.dim), True]),
    ("LivePolicy", "tell"): lambda g: (g.player().tell, [3, 1.0, 1.0]),
    ("LivePolicy", "ask_with_exclusions"): lambda g: (g.player().ask_with_exclusions, [g.normal(g.n, g.dim), False, g.pairs]),
    ("LivePolicy", "ask_batch"): lambda g: (g.player().ask_batch, [g.normal(3, g.n, g.dim), 2, 2, True]),
    ("LivePolicy", "consider"): lambda g: (
        g.player().consider,
        [g.normal(g.n, g.dim), g.normal(2, 2, g.dim), np.zeros(2, np.int64), np.ones(2), g.words, 5, True, g.pairs],
    ),
    ("LivePolicy", "learn"): lambda g: (g.player().learn, [g.normal(g.dim), 1.0, 1.0, 0, 1.0]),
    ("LivePolicy", "place"): lambda g: (g.player().place, [g.normal(g.dim)]),
    ("LivePolicy", "forget"): lambda g: (g.player().forget, [3]),
    ("LivePolicy", "estimate"): lambda g: (g.player().estimate, [0]),
    ("LivePolicy", "precision_factor"): lambda g: (g.player().precision_factor, [0]),
    ("LivePolicy", "curvature_factor"): lambda g: (g.player().curvature_factor, [0]),
    ("LivePolicy", "radius"): lambda g: (g.player().radius, [0]),
    ("LivePolicy", "pending"): lambda g: (g.player().pending, []),
    ("LivePolicy", "pending_ids"): lambda g: (g.player().pending_ids, []),
    ("LivePolicy", "pending_positions"): lambda g: (g.player().pending_positions, [3]),
    ("LivePolicy", "add_pending"): lambda g: (g.player().add_pending, [2, 0, 1, 0, 1.0, g.normal(2, g.dim)]),
    ("LivePolicy", "pair_counts"): lambda g: (g.player().pair_counts, []),
    ("LivePolicy", "set_pair_counts"): _pair_counts,
    ("LivePolicy", "next_id"): lambda g: (functools.partial(setattr, g.player(), "next_id"), [7]),
    ("ArmEffectsMixture", "set_words"): lambda g: (_arm_effects(g).set_words, [g.words]),
    ("ArmEffectsMixture", "observe_arms"): lambda g: (_arm_effects(g).observe_arms, [g.normal(g.n, g.dim)]),
    ("ArmEffectsMixture", "set_ties"): lambda g: (_arm_effects(g).set_ties, [[0.5, 10.0, 2.0, 3.0, 4.0]]),
    ("ArmEffectsMixture", "prior_variances"): lambda g: (_arm_effects(g).prior_variances, [0, g.normal(g.n, g.dim)]),
    ("ArmEffectsMixture", "learn"): lambda g: (_arm_effects(g).learn, [0, 3, g.normal(g.dim), 1.0, 1.0]),
    ("ArmEffectsMixture", "decide"): lambda g: (
        _arm_effects(g).decide,
        [
            _free_rule(g), np.arange(g.n), g.normal(g.n, g.dim), True, g.pairs, np.array([[0, 1], [3, 12]]),
            g.normal(2, g.dim), np.ones(2), g.words, 5,
        ],
    ),
    ("ArmEffectsMixture", "posterior"): lambda g: (
        _arm_effects(g).posterior, [1, np.arange(g.n), g.normal(g.n, g.dim), g.rng.integers(g.n, size=2)],
    ),
    ("ArmEffectsMixture", "squared_widths"): lambda g: (_arm_effects(g).squared_widths, [1, np.arange(g.n), g.normal(g.n, g.dim), g.n - 1]),
    ("ArmEffectsMixture", "arrays"): lambda g: (_arm_effects(g).arrays, []),
    ("PolicyState", "arrays"): lambda g: (g.state().arrays, []),
    ("VoteModel", "__init__"): lambda g: (native.VoteModel, [g.link, False, g.rng.random((g.n, g.n)), 3, 0.1]),
    ("VoteModel", "vote_probability"): lambda g: (
        native.VoteModel(g.link, False, g.rng.random((g.n, g.n)), 3, 0.1).vote_probability, [g.normal(g.n), 0, 0, 2],
    ),
    ("SimulatedRuns", "__init__"): lambda g: (native.SimulatedRuns, [g.policy().make_rule(), [g.state(), None]]),
    ("SimulatedRuns", "play"): lambda g: (_runs(g).play, _play_arguments(g)),
    ("SimulatedCountingRuns", "__init__"): lambda g: (native.SimulatedCountingRuns, [_counting(g).make_rule(), [g.words, g.words]]),
    ("SimulatedCountingRuns", "play"): lambda g: (
        native.SimulatedCountingRuns(_counting(g).make_rule(), [g.words, g.words]).play, _play_arguments(g),
    ),
    ("LiveCountingPolicy", "__init__"): lambda g: (native.LiveCountingPolicy, [_counting(g).make_rule(), g.words]),
    ("LiveCountingPolicy", "ask"): lambda g: (_counting_player(g).ask, [np.arange(g.n), True, g.pairs]),
    ("LiveCountingPolicy", "consider"): lambda g: (
        _counting_player(g).consider,
        [np.arange(g.n), np.array([[0, 1], [2, 7]]), np.array([0, 1]), g.words, bool(g.rng.integers(2)), g.pairs],
    ),
    ("LiveCountingPolicy", "tell"): lambda g: (_counting_player(g).tell, [12, 1.0, 1.0]),
    ("LiveCountingPolicy", "learn"): lambda g: (_counting_player(g).learn, [np.array([0, 9]), 1.0, 1.0, 0]),
    ("LiveCountingPolicy", "forget"): lambda g: (_counting_player(g).forget, [12]),
    ("LiveCountingPolicy", "begin"): lambda g: (_counting_player(g).begin, [np.arange(g.n)]),
    ("LiveCountingPolicy", "n_unseen"): lambda g: (_counting_player(g).n_unseen, [np.arange(g.n)]),
    ("LiveCountingPolicy", "wins"): lambda g: (_counting_player(g).wins, []),
    ("LiveCountingPolicy", "next_id"): lambda g: (functools.partial(setattr, _counting_player(g), "next_id"), [7]),
    ("LiveCountingPolicy", "pending_positions"): lambda g: (_counting_player(g).pending_positions, [12]),
    ("LiveCountingPolicy", "pending"): lambda g: (_counting_player(g).pending, []),
    ("LiveCountingPolicy", "add_pending"): lambda g: (_counting_player(g).add_pending, [3, 0, 1, 2, 3, 0]),
    ("LiveCountingPolicy", "arrays"): lambda g: (_counting_player(g).arrays, []),
    ("LiveCountingPolicy", "set_arrays"): lambda g: (_counting_player(g).set_arrays, _counts_damaged(g)),
}  # fmt: skip
PROPERTIES = {
    "SelectionRule": ("uses_local_curvature", "designs_batches", "is_randomized", "supports_arm_effects"),
    "ArmEffectsMixture": ("dim", "votes", "link", "theta", "best", "log_weights", "variances", "words"),
    "PolicyState": ("dim", "link", "n_layers", "rounds"),
    "LiveCountingPolicy": ("ids", "votes"),
    "LivePolicy": ("state", "dim", "rounds", "learned", "max_layers"),
}

CALLS = (
    [(native, name, make) for name, make in FUNCTIONS.items()]
    + [(parts, name, make) for name, make in PARTS.items()]
    + [(None, name, make) for name, make in METHODS.items()]
)


def _after(call, given):
    """A player that survived is asked again."""
    player = getattr(call, "__self__", None)
    if isinstance(player, native.LiveCountingPolicy):
        _after_counting(player, given)
    if not isinstance(player, native.LivePolicy):
        return
    arms = given.normal(4, given.dim)
    for step in (
        lambda: player.ask(arms, True),
        lambda: [player.tell(number, 1.0, 1.0) for number in player.pending_ids()[:3]],
        lambda: player.ask_batch(arms[None], -1, 1, False),
        lambda: player.state.arrays(),
    ):
        try:
            step()
        except REFUSALS:
            continue


def _after_counting(player, given):
    for step in (
        lambda: [player.ask(np.arange(4), bool(k % 2), np.zeros((0, 2), np.int64)) for k in range(20)],
        lambda: [player.tell(number, 1.0, 1.0) for number, *_ in player.pending()[:10]],
        lambda: player.ask(np.arange(6), False, given.pairs),
        player.arrays,
    ):
        try:
            step()
        except REFUSALS:
            continue


def unborn(rng):
    """An object whose constructor never ran."""
    kinds = (
        native.LivePolicy, native.PolicyState, native.SelectionRule, native.SimulatedRuns, native.VoteModel, native.ArmEffectsMixture,
        native.CountingRule, native.LiveCountingPolicy, native.SimulatedCountingRuns,
    )  # fmt: skip
    kind = kinds[rng.integers(len(kinds))]
    names = [name for name in dir(kind) if not name.startswith("__")]
    if names:
        getattr(kind.__new__(kind), names[rng.integers(len(names))])()


def play(rng):
    given = Given(rng)
    where, name, make = CALLS[rng.integers(len(CALLS))]
    call, arguments = make(given) if where is None else (getattr(where, name), list(make(given)))
    for _ in range(rng.integers(0, 3)):
        if arguments:
            at = int(rng.integers(len(arguments)))
            arguments[at] = values.damaged(rng, arguments[at])
    if name == "solve" and isinstance(arguments[8], int):
        arguments[8] = min(arguments[8], 1000)  # a solver goes on for as long as it is told to
    ending = "calls answered"
    try:
        unborn(rng) if rng.random() < 0.01 else call(*arguments)
    except REFUSALS:
        ending = "calls refused"
    finally:
        native.set_duel_class(dl.Duel)
        native.use_vector_extension(native.vector_extensions()[0])
    _after(call, given)
    return ending
