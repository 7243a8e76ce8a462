// Live policies that use features.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/duels.hpp"
#include "bindings/pair_counts.hpp"
#include "engine/live_policy.hpp"

namespace duelist {

namespace {

constexpr double MAX_WEIGHT = 1e15;  // of a vote, as in duelist.core.duel

// The largest sum of squares of features: larger ones are not finite, or overflow when they are squared.
constexpr double MAX_SQUARE = 1e300;

bool is_in_range(const double* numbers, i64 n) { return kernels->dot(numbers, numbers, n) <= MAX_SQUARE; }

PolicyState& state_of(LivePolicy& policy) {
    require(policy.state.has_value(), "The policy has seen no arms yet.");
    return *policy.state;
}

Layer& layer_of(LivePolicy& policy, i64 layer) {
    require(layer >= 0 && layer < state_of(policy).n_layers(), "There is no such layer.");
    return policy.state->layer(layer);
}

ArmTable table_of(LivePolicy& policy, const Matrix& arms, bool distinct, const PairSet& excluded) {
    i64 n = arms.extent(0), dim = arms.extent(1);
    require(n > 0 && dim == state_of(policy).dim, "The arms do not match the policy.");
    return {arms.data(), n, dim, distinct, excluded.size() ? &excluded : nullptr};
}

// -- ask and tell -----------------------------------------------------------------------------

std::optional<DuelObject> asked_duel(const LivePolicy& policy, i64 id) {
    if (id < 0) return std::nullopt;
    const Decision& duel = policy.pending.at(id).duel;
    return duel_class.make(duel.first, duel.second, id);
}

// The next duel. None if the arms need the slow path, which checks them, or if no pair is allowed.
std::optional<DuelObject> ask(LivePolicy& policy, nb::object arms, bool distinct) {
    Exclusive exclusive(policy);
    ArmsBuffer view(arms.ptr());
    if (!view.is_valid() || !policy.state || view.n() == 0 || view.dim() != policy.state->dim ||
        !is_in_range(view.data(), view.n() * view.dim()))
        return std::nullopt;
    return asked_duel(policy, policy.ask({view.data(), view.n(), view.dim(), distinct}));
}

std::optional<DuelObject> ask_with_exclusions(LivePolicy& policy, Matrix arms, bool distinct,
                                              const IndexPairs& exclude) {
    Exclusive exclusive(policy);
    PairSet excluded = pair_set(exclude, arms.extent(0));
    return asked_duel(policy, policy.ask(table_of(policy, arms, distinct, excluded)));
}

// Learn the outcome of a pending duel. Return false, without a change, if an argument is invalid.
bool tell(LivePolicy& policy, nb::object duel, nb::object outcome, nb::object weight, bool tie) {
    Exclusive exclusive(policy);
    i64 id, first = -1, second = -1;
    if (Py_TYPE(duel.ptr()) == duel_class.type) {
        if (!read_field(duel.ptr(), duel_class.id, id) || !read_field(duel.ptr(), duel_class.first, first) ||
            !read_field(duel.ptr(), duel_class.second, second))
            return false;
    } else if (!PyLong_CheckExact(duel.ptr()) || !read_integer(duel.ptr(), id)) {
        return false;
    }
    double value, times;
    if (!read_double(outcome.ptr(), value) || !read_double(weight.ptr(), times)) return false;
    if (!(value >= 0.0 && value <= 1.0) || !(times > 0.0 && times <= MAX_WEIGHT)) return false;
    auto found = policy.pending.find(id);
    if (found == policy.pending.end()) return false;
    const Decision& asked = found->second.duel;
    if (first >= 0 && (first != asked.first || second != asked.second)) return false;
    policy.tell(id, value, times, tie);
    return true;
}

// -- stateless use, with the pending duels of a log -------------------------------------------

std::tuple<i64, i64, i64, double> consider(LivePolicy& policy, Matrix arms, Tensor3 pending_arms, Integers layers,
                                           Vector shares, std::optional<Words> words, i64 rounds, bool distinct,
                                           const IndexPairs& exclude) {
    Exclusive exclusive(policy);
    i64 count = pending_arms.extent(0), dim = state_of(policy).dim;
    require(layers.extent(0) == count && shares.extent(0) == count &&
                (count == 0 || (pending_arms.extent(1) == 2 && pending_arms.extent(2) == dim)),
            "The pending duels do not match the policy.");
    require(rounds <= MAX_ROUNDS, "rounds is too large.");
    std::vector<PendingDuel> pending;
    for (i64 k = 0; k < count; k++) {
        require(layers.data()[k] < policy.max_layers(), "A pending duel has an invalid layer.");
        pending.push_back({pending_arms.data() + k * 2 * dim, layers.data()[k], shares.data()[k]});
    }
    PairSet excluded = pair_set(exclude, arms.extent(0));
    ArmTable table = table_of(policy, arms, distinct, excluded);
    std::optional<Sfc64> random;
    if (words) random = generator(*words);
    Decision duel;
    {
        nb::gil_scoped_release release;
        duel = policy.consider(table, pending, random, rounds);
    }
    return {duel.first, duel.second, duel.layer, duel.share};
}

void learn(LivePolicy& policy, Vector difference, double outcome, double weight, i64 layer, double share,
           std::optional<Matrix> arms, bool tie) {
    Exclusive exclusive(policy);
    i64 dim = state_of(policy).dim;
    require(difference.extent(0) == dim, "The difference does not match the policy.");
    require(!arms || (arms->extent(0) == 2 && arms->extent(1) == dim), "The arms do not match the policy.");
    require(layer >= -1 && layer < policy.max_layers(), "The layer is invalid.");
    require(outcome >= 0.0 && outcome <= 1.0 && weight > 0.0 && weight <= MAX_WEIGHT && share >= 0.0 && share < INF,
            "outcome, weight or share is invalid.");
    const double* compared = arms ? arms->data() : nullptr;
    nb::gil_scoped_release release;
    policy.learn(difference.data(), outcome, weight, layer, share, compared, tie);
}

std::tuple<i64, double> place(LivePolicy& policy, Vector difference) {
    Exclusive exclusive(policy);
    require(difference.extent(0) == state_of(policy).dim, "The difference does not match the policy.");
    LayerAssignment assigned = policy.rule->assign_layer(*policy.state, difference.data(), policy.workspace());
    return {assigned.layer, assigned.share};
}

// -- batches ----------------------------------------------------------------------------------

using BatchResult = std::tuple<IntArray, nb::typed<nb::list, DuelObject>, FloatArray>;

// Contexts, duels and information: of all contexts in order (k < 0), or of the best k. None, without a change, if some
// context has no allowed pair.
std::optional<BatchResult> ask_batch(LivePolicy& policy, Tensor3 arms, i64 k, i64 threads, bool distinct,
                                     std::optional<Integers> counts) {
    Exclusive exclusive(policy);
    i64 n = arms.extent(0), candidates = arms.extent(1), dim = state_of(policy).dim;
    require(arms.extent(2) == dim && n > 0 && candidates > 0, "The arms do not match the policy.");
    require(!counts || counts->extent(0) == n, "counts must have one entry per context.");
    ContextArms contexts{arms.data(), n, candidates, dim, counts ? counts->data() : nullptr};
    i64 pairs = 0;
    for (i64 c = 0; c < n; c++) {
        require(contexts.count(c) >= 1 && contexts.count(c) <= candidates,
                "counts must be between 1 and the candidates.");
        pairs += contexts.pairs_of(c);
    }
    bool selects_pairs = policy.rule->designs() && candidates > 1 && candidates < MANY_ARMS;
    require(k <= (selects_pairs ? pairs : n), "k exceeds the number of duels to select from.");
    PolicyState state = policy.state_for_batch(contexts);  // while this thread holds the lock
    const std::vector<PendingDuel> pending = policy.pending_to_exclude();
    std::optional<BatchDecision> batch;
    {
        nb::gil_scoped_release release;
        batch = decide_batch(*policy.rule, state, contexts, pending, k, distinct, threads);
    }
    if (!batch) return std::nullopt;
    policy.state->random = state.random;
    policy.state->rounds += static_cast<i64>(batch->duels.size());
    policy.rule->ensure_layers(*policy.state);
    nb::list duels;
    for (std::size_t at = 0; at < batch->duels.size(); at++) {
        const Decision& duel = batch->duels[at];
        i64 context = batch->contexts[at];
        i64 id = policy.add_pending_duel(duel, {contexts.arm(context, 0), contexts.count(context), dim});
        duels.append(duel_class.make(duel.first, duel.second, id));
    }
    return BatchResult{to_numpy(batch->contexts), duels, to_numpy(batch->information)};
}

// -- inspection -------------------------------------------------------------------------------

FloatArray estimate(LivePolicy& policy, i64 number) {
    Exclusive exclusive(policy);
    Layer& layer = layer_of(policy, number);
    if (layer.fit_status == FitStatus::unfinished) layer.fit_status = FitStatus::outdated;
    return to_numpy(policy.state->theta(number, policy.workspace().solver), {policy.state->dim});
}

FloatArray precision_factor(LivePolicy& policy, i64 number) {
    Exclusive exclusive(policy);
    const Layer& layer = layer_of(policy, number);
    return to_numpy(layer.factor.data(), {policy.state->dim, policy.state->dim});
}

FloatArray curvature_factor(LivePolicy& policy, i64 number) {
    Exclusive exclusive(policy);
    layer_of(policy, number);
    PolicyState copy = state_of(policy);  // inspection must not change the state
    return to_numpy(copy.local_curvature(number, policy.workspace().solver), {copy.dim, copy.dim});
}

double radius(LivePolicy& policy, i64 number) {
    Exclusive exclusive(policy);
    Layer& layer = layer_of(policy, number);
    nb::gil_scoped_release release;
    policy.rule->prepare(*policy.state, policy.workspace());
    return layer.radius;
}

// The total weight of the outcomes that each layer has learned.
FloatArray learned(LivePolicy& policy) {
    Exclusive exclusive(policy);
    std::vector<double> weights;
    for (const Layer& layer : state_of(policy).layers) weights.push_back(layer.learned);
    return to_numpy(weights);
}

// -- pending duels and pair counts, for snapshots ---------------------------------------------

using PendingRecord = std::tuple<i64, i64, i64, i64, double, FloatArray>;

// (id, first, second, layer, share, features of the two arms) of each pending duel.
std::vector<PendingRecord> pending(const LivePolicy& policy) {
    Exclusive exclusive(policy);
    std::vector<PendingRecord> records;
    for (const auto& [id, asked] : policy.pending) {
        const Decision& duel = asked.duel;
        records.emplace_back(id, duel.first, duel.second, duel.layer, duel.share,
                             to_numpy(asked.arms.data(), {2, policy.state->dim}));
    }
    return records;
}

std::vector<i64> pending_ids(const LivePolicy& policy) {
    Exclusive exclusive(policy);
    std::vector<i64> ids;
    for (const auto& [id, asked] : policy.pending) ids.push_back(id);
    return ids;
}

std::optional<std::pair<i64, i64>> pending_positions(const LivePolicy& policy, i64 id) {
    Exclusive exclusive(policy);
    auto found = policy.pending.find(id);
    if (found == policy.pending.end()) return std::nullopt;
    return std::pair(found->second.duel.first, found->second.duel.second);
}

void add_pending(LivePolicy& policy, i64 id, i64 first, i64 second, i64 layer, double share, Matrix arms) {
    Exclusive exclusive(policy);
    const PolicyState& state = state_of(policy);
    bool is_valid = arms.extent(0) == 2 && arms.extent(1) == state.dim && is_in_range(arms.data(), 2 * state.dim) &&
                    layer >= -1 && layer < state.n_layers() && id >= 0 && id < policy.next_id && first >= 0 &&
                    second >= 0 && share >= 0.0 && share < INF;
    if (!is_valid) throw std::invalid_argument("Pending duel " + std::to_string(id) + " does not match the state.");
    AskedDuel asked{{first, second, layer, share}, {arms.data(), arms.data() + 2 * state.dim}};
    policy.pending.insert_or_assign(id, std::move(asked));
}

void set_next_id(LivePolicy& policy, i64 id) {
    require(id >= 0 && id <= MAX_ROUNDS, "next_id is invalid.");
    policy.next_id = id;
}

std::optional<ArrayDict> pair_counts(const LivePolicy& policy) {
    Exclusive exclusive(policy);
    if (!policy.pair_counts.complete()) return std::nullopt;
    return write_pair_counts(policy.pair_counts, policy.state->dim);
}

void set_pair_counts(LivePolicy& policy, const ArrayDict& arrays) {
    Exclusive exclusive(policy);
    const PolicyState& state = state_of(policy);
    PairCounts counts = read_pair_counts(arrays, state.dim, policy.max_counted_pairs());
    require(counts.pairs().empty() || state.has_learned(), "Votes are counted, but none were learned.");
    policy.pair_counts = std::move(counts);
}

}  // namespace

void bind_live_policy(nb::module_& m) {
    nb::class_<SelectionRule>(m, "SelectionRule", "The selection rule of a policy that uses features.")
        .def_prop_ro("uses_local_curvature", &SelectionRule::local)
        .def_prop_ro("is_randomized", &SelectionRule::draws)
        .def_prop_ro("supports_arm_effects", &SelectionRule::supports_arm_effects)
        .def_prop_ro("designs_batches", &SelectionRule::designs);
    m.def(
        "make_selection_rule",
        [](const std::string& policy, const std::map<std::string, double>& hyperparameters) {
            return std::shared_ptr<SelectionRule>(make_selection_rule(policy, Hyperparameters(hyperparameters)));
        },
        "policy"_a, "hyperparameters"_a);
    m.def("selection_rule_names", &selection_rule_names);
    nb::class_<LivePolicy>(m, "LivePolicy", "A selection rule, its state, and the pending duels.")
        .def(
            "__init__",
            [](LivePolicy* self, std::shared_ptr<SelectionRule> rule) {
                require(rule != nullptr, "A live policy needs a selection rule.");
                new (self) LivePolicy(std::move(rule));
            },
            "rule"_a)
        .def(
            "begin",
            [](LivePolicy& policy, const PolicyState& first) {
                Exclusive exclusive(policy);
                policy.begin(first);
            },
            "state"_a)
        .def("ask", &ask, "arms"_a.none(), "distinct"_a)
        .def("ask_with_exclusions", &ask_with_exclusions, "arms"_a, "distinct"_a, "exclude"_a)
        .def("tell", &tell, "duel"_a.none(), "outcome"_a.none(), "weight"_a.none(), "tie"_a = false)
        .def("ask_batch", &ask_batch, "arms"_a, "k"_a, "threads"_a, "distinct"_a, "counts"_a = nb::none())
        .def("consider", &consider, "arms"_a, "pending"_a, "layers"_a, "shares"_a, "words"_a.none(), "rounds"_a,
             "distinct"_a, "exclude"_a)
        .def("learn", &learn, "difference"_a, "outcome"_a, "weight"_a, "layer"_a, "share"_a, "arms"_a = nb::none(),
             "tie"_a = false)
        .def("place", &place, "difference"_a)
        .def(
            "forget",
            [](LivePolicy& policy, i64 id) {
                Exclusive exclusive(policy);
                return policy.pending.erase(id) == 1;
            },
            "id"_a)
        .def("estimate", &estimate, "layer"_a)
        .def("precision_factor", &precision_factor, "layer"_a)
        .def("curvature_factor", &curvature_factor, "layer"_a)
        .def("radius", &radius, "layer"_a)
        .def_prop_ro(
            "state",
            [](LivePolicy& policy) {
                Exclusive exclusive(policy);
                return policy.state;
            },
            nb::rv_policy::move)
        .def_prop_ro("dim", [](LivePolicy& policy) { return policy.state ? policy.state->dim : 0; })
        .def_prop_ro("rounds", [](LivePolicy& policy) { return policy.state ? policy.state->rounds : 0; })
        .def_prop_ro("max_layers", &LivePolicy::max_layers)
        .def_prop_rw(
            "next_id", [](LivePolicy& policy) { return policy.next_id; }, &set_next_id)
        .def_prop_ro("learned", &learned, nb::rv_policy::move)
        .def("pending", &pending)
        .def("pending_ids", &pending_ids)
        .def("pending_positions", &pending_positions, "id"_a)
        .def("add_pending", &add_pending, "id"_a, "first"_a, "second"_a, "layer"_a, "share"_a, "arms"_a)
        .def("pair_counts", &pair_counts)
        .def("set_pair_counts", &set_pair_counts, "arrays"_a);
    m.attr("MAX_COUNTED_PAIRS") = PairCounts::MAX_PAIRS;
    m.def("set_duel_class", [](nb::type_object cls) { duel_class.set(cls); }, "cls"_a);
}

}  // namespace duelist
