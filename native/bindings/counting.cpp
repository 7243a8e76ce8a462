// Live policies that count wins.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "engine/live_counting_policy.hpp"

namespace duelist {

namespace {

constexpr double MAX_WEIGHT = 1e15, MAX_COUNT = 1e32;  // of a vote, and of 2^53 such votes
constexpr i64 N_LAYERS = 2;

bool has_duplicates(std::vector<i64> ids) {
    std::sort(ids.begin(), ids.end());
    return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

bool is_negative(i64 id) { return id < 0; }

void check_ids(const LiveCountingPolicy& policy, std::span<const i64> ids) {
    require(!ids.empty(), "There are no arms.");
    require(std::none_of(ids.begin(), ids.end(), is_negative), "An arm id is negative.");
    require(!has_duplicates({ids.begin(), ids.end()}), "An arm id is repeated.");
    require(policy.state.n + policy.n_unseen(ids) <= MAX_COUNTING_ARMS, "There are too many arms.");
}

// Excluded pairs of positions as pairs of indices.
PairSet excluded_pairs(const IndexPairs& exclude, const std::vector<i64>& indices) {
    PairSet set;
    i64 n = static_cast<i64>(indices.size());
    for (i64 k = 0; k < exclude.extent(0); k++) {
        i64 i = exclude.data()[2 * k], j = exclude.data()[2 * k + 1];
        require(i >= 0 && j >= 0 && i < n && j < n, "An excluded pair has an invalid position.");
        if (i != j) set.add(indices[i], indices[j]);
    }
    set.seal();
    return set;
}

CountedVote checked_vote(i64 first, i64 second, double outcome, double weight, i64 layer) {
    require(outcome >= 0.0 && outcome <= 1.0 && weight > 0.0 && weight <= MAX_WEIGHT, "outcome or weight is invalid.");
    require(layer >= 0 && layer < N_LAYERS, "The layer is invalid.");
    return {first, second, outcome, weight, layer};
}

// -- ask and tell -----------------------------------------------------------------------------

// Positions and id of the next duel. None, without a change, if no pair is allowed.
std::optional<std::tuple<i64, i64, i64>> ask(LiveCountingPolicy& policy, Integers arms, bool distinct,
                                             const IndexPairs& exclude) {
    check_ids(policy, arms.span());
    std::vector<i64> indices = policy.indices_of(arms.span());
    PairSet excluded = excluded_pairs(exclude, indices);
    Sfc64 random = policy.state.random;
    PendingCountingDuel duel =
        policy.decide(indices, random, distinct, excluded.size() ? &excluded : nullptr, policy.pending_duels());
    if (duel.duel.none()) return std::nullopt;
    policy.state.random = random;
    policy.pending.emplace(policy.next_id, duel);
    return std::tuple(duel.first, duel.second, policy.next_id++);
}

void tell(LiveCountingPolicy& policy, i64 id, double outcome, double weight) {
    auto found = policy.pending.find(id);
    require(found != policy.pending.end(), "There is no such duel.");
    CountingDecision duel = found->second.duel;
    CountedVote vote = checked_vote(duel.first, duel.second, outcome, weight, duel.layer);
    policy.pending.erase(found);
    policy.learn(vote);
}

// -- stateless use, with the pending duels of a log -------------------------------------------

using Choice = std::optional<std::tuple<i64, i64, i64>>;

Choice decide_with(LiveCountingPolicy& policy, const Integers& arms, const IndexPairs& pending, const Integers& layers,
                   const std::optional<Words>& words, bool distinct, const IndexPairs& exclude) {
    std::vector<CountingDecision> waiting;
    for (i64 k = 0; k < pending.extent(0); k++) {
        std::vector<i64> pair = policy.indices_of(pending.span().subspan(2 * k, 2));
        waiting.push_back({pair[0], pair[1], layers.data()[k]});
    }
    std::vector<i64> indices = policy.indices_of(arms.span());
    PairSet excluded = excluded_pairs(exclude, indices);
    Sfc64 random = words ? generator(*words) : policy.state.random;
    PendingCountingDuel duel = policy.decide(indices, random, distinct, excluded.size() ? &excluded : nullptr, waiting);
    if (duel.duel.none()) return std::nullopt;
    return std::tuple(duel.first, duel.second, duel.duel.layer);
}

// Positions and layer of the duel that would be asked. Changes nothing: unseen arms join with their first vote.
Choice consider(LiveCountingPolicy& policy, Integers arms, const IndexPairs& pending, Integers layers,
                std::optional<Words> words, bool distinct, const IndexPairs& exclude) {
    check_ids(policy, arms.span());
    require(pending.extent(0) == layers.extent(0), "pending and layers must have the same length.");
    std::span<const i64> ids = pending.span();
    require(std::none_of(ids.begin(), ids.end(), is_negative), "A pending duel has a negative arm id.");
    for (i64 layer : layers.span()) require(layer >= 0 && layer < N_LAYERS, "A pending duel has an invalid layer.");
    i64 n_unseen = policy.n_unseen(arms.span()) + policy.n_unseen(ids);
    require(policy.state.n + n_unseen <= MAX_COUNTING_ARMS, "There are too many arms.");
    if (n_unseen == 0) return decide_with(policy, arms, pending, layers, words, distinct, exclude);
    LiveCountingPolicy copy = policy;
    return decide_with(copy, arms, pending, layers, words, distinct, exclude);
}

void learn(LiveCountingPolicy& policy, Integers arms, double outcome, double weight, i64 layer) {
    std::span<const i64> ids = arms.span();
    require(ids.size() == 2 && ids[0] >= 0 && ids[1] >= 0, "A vote needs two arm ids.");
    require(policy.state.n + policy.n_unseen(ids) <= MAX_COUNTING_ARMS, "There are too many arms.");
    CountedVote vote = checked_vote(0, 0, outcome, weight, layer);
    std::vector<i64> indices = policy.indices_of(ids);
    vote.first = indices[0];
    vote.second = indices[1];
    policy.learn(vote);
}

// -- snapshots --------------------------------------------------------------------------------

// The state. Only pairs that have met are stored, with the wins of either arm.
ArrayDict arrays_of(const LiveCountingPolicy& policy) {
    const CountingState& state = policy.state;
    std::vector<i64> first, second;
    std::vector<double> won, lost;
    for (i64 i = 0; i < state.n; i++)
        for (i64 j = i + 1; j < state.n; j++)
            if (state.met(i, j) > 0.0) {
                first.push_back(i);
                second.push_back(j);
                won.push_back(state.won(i, j));
                lost.push_back(state.won(j, i));
            }
    nb::dict out;
    out["votes"] = to_numpy(&state.votes, {1});
    out["words"] = to_numpy(state.random);
    out["ids"] = to_numpy(state.ids);
    out["first"] = to_numpy(first);
    out["second"] = to_numpy(second);
    out["won"] = to_numpy(won);
    out["lost"] = to_numpy(lost);
    out["integers"] = to_numpy(state.integers);
    out["reals"] = to_numpy(state.reals);
    return ArrayDict(out);
}

// Counts that stay finite when they are added up.
std::vector<double> read_counts(const nb::dict& arrays, const char* name, i64 length, double least) {
    std::vector<double> counts = read_finite(arrays, name, {length}, least);
    for (double count : counts) require(count <= MAX_COUNT, "A count is too large.");
    return counts;
}

std::vector<double> read_wins(const nb::dict& arrays, const CountingState& state) {
    i64 n = state.n, pairs = length_of(arrays, "first");
    std::vector<double> wins(static_cast<std::size_t>(n * n), 0.0);
    std::vector<i64> first = read_array<i64>(arrays, "first", {pairs});
    std::vector<i64> second = read_array<i64>(arrays, "second", {pairs});
    std::vector<double> won = read_counts(arrays, "won", pairs, 0.0), lost = read_counts(arrays, "lost", pairs, 0.0);
    for (i64 k = 0; k < pairs; k++) {
        require(first[k] >= 0 && first[k] < second[k] && second[k] < n, "A pair has invalid arms.");
        wins[state.at(first[k], second[k])] = won[k];
        wins[state.at(second[k], first[k])] = lost[k];
    }
    return wins;
}

void set_arrays(LiveCountingPolicy& policy, const ArrayDict& arrays) {
    CountingState state;
    state.n = length_of(arrays, "ids");
    require(state.n <= MAX_COUNTING_ARMS, "There are too many arms.");
    state.votes = read_array<i64>(arrays, "votes", {1})[0];
    require(state.votes >= 0 && state.votes <= MAX_ROUNDS, "The number of votes is invalid.");
    state.random = read_generator(arrays);
    state.ids = read_array<i64>(arrays, "ids", {state.n});
    require(std::none_of(state.ids.begin(), state.ids.end(), is_negative) && !has_duplicates(state.ids),
            "Array 'ids' has negative or repeated ids.");
    state.set_wins(read_wins(arrays, state));
    state.integers = read_array<i64>(arrays, "integers", {length_of(arrays, "integers")});
    state.reals = read_counts(arrays, "reals", length_of(arrays, "reals"), -MAX_COUNT);
    bool is_empty = state.integers.empty() && state.reals.empty();
    require(state.n == 0 ? is_empty : policy.rule->is_valid_state(state), "The variables do not match the rule.");
    policy.pending.clear();
    policy.replace_state(std::move(state));
}

using PendingRecord = std::tuple<i64, i64, i64, i64, i64, i64>;

// (id, first position, second position, first index, second index, layer) of each pending duel.
std::vector<PendingRecord> pending(const LiveCountingPolicy& policy) {
    std::vector<PendingRecord> records;
    for (const auto& [id, asked] : policy.pending)
        records.emplace_back(id, asked.first, asked.second, asked.duel.first, asked.duel.second, asked.duel.layer);
    return records;
}

std::optional<std::pair<i64, i64>> pending_positions(const LiveCountingPolicy& policy, i64 id) {
    auto found = policy.pending.find(id);
    if (found == policy.pending.end()) return std::nullopt;
    return std::pair(found->second.first, found->second.second);
}

void add_pending(LiveCountingPolicy& policy, i64 id, i64 first, i64 second, i64 first_index, i64 second_index,
                 i64 layer) {
    i64 n = policy.state.n;
    require(id >= 0 && id < policy.next_id && first >= 0 && second >= 0 && first_index >= 0 && second_index >= 0 &&
                first_index < n && second_index < n && layer >= 0 && layer < N_LAYERS,
            "A pending duel does not match the state.");
    policy.pending.insert_or_assign(id, PendingCountingDuel{{first_index, second_index, layer}, first, second});
}

void set_next_id(LiveCountingPolicy& policy, i64 id) {
    require(id >= 0 && id <= MAX_ROUNDS, "next_id is invalid.");
    policy.next_id = id;
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.attr("MAX_COUNTING_ARMS") = MAX_COUNTING_ARMS;
    nb::class_<CountingRule>(m, "CountingRule", "The selection rule of a policy that counts wins.");
    m.def(
        "make_counting_rule",
        [](const std::string& policy, const std::map<std::string, double>& hyperparameters) {
            return std::shared_ptr<CountingRule>(make_counting_rule(policy, Hyperparameters(hyperparameters)));
        },
        "policy"_a, "hyperparameters"_a);
    m.def("counting_rule_names", &counting_rule_names);
    nb::class_<LiveCountingPolicy>(m, "LiveCountingPolicy", "A counting rule, its state, and the pending duels.")
        .def(
            "__init__",
            [](LiveCountingPolicy* self, std::shared_ptr<CountingRule> rule, Words words) {
                require(rule != nullptr, "A live policy needs a counting rule.");
                new (self) LiveCountingPolicy(std::move(rule));
                self->state.random = generator(words);
            },
            "rule"_a, "words"_a)
        .def("ask", &ask, "arms"_a, "distinct"_a, "exclude"_a)
        .def("tell", &tell, "id"_a, "outcome"_a, "weight"_a)
        .def("consider", &consider, "arms"_a, "pending"_a, "layers"_a, "words"_a.none(), "distinct"_a, "exclude"_a)
        .def("learn", &learn, "arms"_a, "outcome"_a, "weight"_a, "layer"_a)
        .def(
            "forget", [](LiveCountingPolicy& policy, i64 id) { return policy.pending.erase(id) == 1; }, "id"_a)
        .def(
            "begin",
            [](LiveCountingPolicy& policy, Integers arms) {
                check_ids(policy, arms.span());
                policy.indices_of(arms.span());
            },
            "arms"_a)
        .def(
            "n_unseen", [](const LiveCountingPolicy& policy, Integers arms) { return policy.n_unseen(arms.span()); },
            "arms"_a)
        .def("wins",
             [](const LiveCountingPolicy& policy) {
                 return to_numpy(policy.state.wins().data(), {policy.state.n, policy.state.n});
             })
        .def_prop_ro(
            "ids", [](const LiveCountingPolicy& policy) { return to_numpy(policy.state.ids); }, nb::rv_policy::move)
        .def_prop_ro("votes", [](const LiveCountingPolicy& policy) { return policy.state.votes; })
        .def_prop_rw(
            "next_id", [](const LiveCountingPolicy& policy) { return policy.next_id; }, &set_next_id)
        .def("pending", &pending)
        .def("pending_positions", &pending_positions, "id"_a)
        .def("add_pending", &add_pending, "id"_a, "first"_a, "second"_a, "first_index"_a, "second_index"_a, "layer"_a)
        .def("arrays", &arrays_of)
        .def("set_arrays", &set_arrays, "arrays"_a);
}

}  // namespace duelist
