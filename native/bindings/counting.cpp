// Policies that count wins, as Python sees them.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "engine/counting_player.hpp"

namespace duelist {

namespace {

using Duel = std::tuple<i64, i64, i64>;  // positions on the table, and a number: that of the duel, or its layer
constexpr double LARGEST_WEIGHT = 1e15, LARGEST_COUNT = 1e32;  // a vote's, and that of 2^53 such votes
constexpr i64 MAX_LAYERS = 2;

void check(bool good, const char* what) {
    if (!good) throw std::invalid_argument(what);
}

void check_arms(const LiveCountingPolicy& policy, const Whole& arms) {
    i64 n = static_cast<i64>(arms.shape(0));
    check(n > 0, "there are no arms");
    std::vector<i64> sorted(arms.data(), arms.data() + n);
    std::sort(sorted.begin(), sorted.end());
    check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "an arm is on the table twice");
    check(sorted.front() >= 0, "an arm has a negative number");
    check(policy.state.n + policy.unseen(arms.data(), n) <= MAX_COUNTING_ARMS, "there are too many arms");
}

// Pairs of positions as pairs of numbers inside.
PairSet excluded_pairs(const Pairs& exclude, const std::vector<i64>& table) {
    PairSet set;
    i64 n = static_cast<i64>(table.size());
    for (std::size_t k = 0; k < exclude.shape(0); k++) {
        i64 i = exclude.data()[2 * k], j = exclude.data()[2 * k + 1];
        check(i >= 0 && j >= 0 && i < n && j < n, "an excluded pair is not on the table");
        if (i != j) set.add(table[static_cast<std::size_t>(i)], table[static_cast<std::size_t>(j)]);
    }
    set.seal();
    return set;
}

CountedVote checked_vote(i64 first, i64 second, double outcome, double weight, i64 layer) {
    check(outcome >= 0.0 && outcome <= 1.0 && weight > 0.0 && weight <= LARGEST_WEIGHT,
          "outcome or weight is not what it may be");
    check(layer >= 0 && layer < MAX_LAYERS, "the vote is in no layer");
    return {first, second, outcome, weight, layer};
}

// The next duel; None: no pair may be asked, and nothing has changed.
std::optional<Duel> ask(LiveCountingPolicy& policy, Whole arms, bool distinct, const Pairs& exclude) {
    check_arms(policy, arms);
    std::vector<i64> table = policy.add_arms(arms.data(), static_cast<i64>(arms.shape(0)));
    PairSet out = excluded_pairs(exclude, table);
    Sfc64 random = policy.state.random;
    PendingCountingDuel duel = policy.decide(table, random, distinct, out.size() ? &out : nullptr, policy.waiting());
    if (duel.duel.none()) return std::nullopt;
    policy.state.random = random;
    policy.pending.emplace(policy.next_id, duel);
    return Duel(duel.first, duel.second, policy.next_id++);
}

// What would be asked; nothing changes. `player` is a copy where there are arms that were never seen: they join with their first vote.
std::optional<Duel> considered(LiveCountingPolicy& policy, const Whole& arms, const Pairs& waiting, const Whole& layers,
                               const std::optional<Words>& words, bool distinct, const Pairs& exclude) {
    std::vector<CountingDecision> pending;
    for (std::size_t k = 0; k < waiting.shape(0); k++) {
        std::vector<i64> inside = policy.add_arms(waiting.data() + 2 * k, 2);
        pending.push_back({inside[0], inside[1], layers.data()[k]});
    }
    std::vector<i64> table = policy.add_arms(arms.data(), static_cast<i64>(arms.shape(0)));
    PairSet out = excluded_pairs(exclude, table);
    Sfc64 random = policy.state.random;
    if (words) std::copy(words->data(), words->data() + 4, random.words.begin());
    PendingCountingDuel duel = policy.decide(table, random, distinct, out.size() ? &out : nullptr, pending);
    if (duel.duel.none()) return std::nullopt;
    return Duel(duel.first, duel.second, duel.duel.layer);
}

std::optional<Duel> consider(LiveCountingPolicy& policy, Whole arms, const Pairs& waiting, Whole layers,
                             std::optional<Words> words, bool distinct, const Pairs& exclude) {
    check_arms(policy, arms);
    check(waiting.shape(0) == layers.shape(0), "pending duels have no layers");
    i64 count = static_cast<i64>(waiting.shape(0)), n = static_cast<i64>(arms.shape(0));
    for (i64 k = 0; k < 2 * count; k++) check(waiting.data()[k] >= 0, "a pending duel is of no arms");
    for (i64 k = 0; k < count; k++)
        check(layers.data()[k] >= 0 && layers.data()[k] < MAX_LAYERS, "a pending duel is in no layer");
    i64 unseen = policy.unseen(arms.data(), n) + policy.unseen(waiting.data(), 2 * count);
    check(policy.state.n + unseen <= MAX_COUNTING_ARMS, "there are too many arms");
    if (unseen == 0) return considered(policy, arms, waiting, layers, words, distinct, exclude);
    LiveCountingPolicy aside = policy;
    return considered(aside, arms, waiting, layers, words, distinct, exclude);
}

void tell(LiveCountingPolicy& policy, i64 id, double outcome, double weight) {
    auto found = policy.pending.find(id);
    check(found != policy.pending.end(), "there is no such duel");
    CountingDecision duel = found->second.duel;
    CountedVote vote = checked_vote(duel.first, duel.second, outcome, weight, duel.layer);
    policy.pending.erase(found);
    policy.learn(vote);
}

void learn(LiveCountingPolicy& policy, Whole arms, double outcome, double weight, i64 layer) {
    check(arms.shape(0) == 2 && arms.data()[0] >= 0 && arms.data()[1] >= 0, "a vote is of two arms");
    check(policy.state.n + policy.unseen(arms.data(), 2) <= MAX_COUNTING_ARMS, "there are too many arms");
    CountedVote vote = checked_vote(0, 0, outcome, weight, layer);
    std::vector<i64> inside = policy.add_arms(arms.data(), 2);
    vote.first = inside[0];
    vote.second = inside[1];
    policy.learn(vote);
}

// Pairs that have met, with the wins of the first and of the second: most have not.
nb::dict arrays(LiveCountingPolicy& policy) {
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
    nb::dict made;
    made["votes"] = copied(&state.votes, {1});
    made["words"] = copied(state.random.words.data(), {4});
    made["names"] = copied(state.names);
    made["first"] = copied(first);
    made["second"] = copied(second);
    made["won"] = copied(won);
    made["lost"] = copied(lost);
    made["notes"] = copied(state.integers);
    made["tallies"] = copied(state.reals);
    return made;
}

i64 length_of(const nb::dict& arrays, const char* name) {
    if (!arrays.contains(name)) throw std::invalid_argument(std::string("there is no ") + name);
    return static_cast<i64>(nb::len(nb::object(arrays[name])));
}

// Counts that may have come about, and that stay finite when they are added up.
std::vector<double> counted(const nb::dict& arrays, const char* name, i64 length, double least) {
    std::vector<double> numbers = finite(read_array<double>(arrays, name, {length}), name, least);
    for (double number : numbers) check(number <= LARGEST_COUNT, "a count is too large");
    return numbers;
}

// What is known, from arrays that may come from anywhere.
void set_arrays(LiveCountingPolicy& policy, const nb::dict& arrays) {
    CountingState state;
    i64 n = length_of(arrays, "names"), met = length_of(arrays, "first");
    check(n <= MAX_COUNTING_ARMS, "there are too many arms");
    state.votes = read_array<i64>(arrays, "votes", {1})[0];
    check(state.votes >= 0 && state.votes <= MAX_ROUNDS, "the number of votes is not what it may be");
    std::vector<u64> words = read_array<u64>(arrays, "words", {4});
    std::copy(words.begin(), words.end(), state.random.words.begin());
    state.names = read_array<i64>(arrays, "names", {n});
    std::vector<i64> sorted = state.names;
    std::sort(sorted.begin(), sorted.end());
    bool repeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    check(!repeated && (n == 0 || sorted.front() >= 0), "names are not those of arms");
    state.n = n;
    std::vector<double> wins(static_cast<std::size_t>(n * n), 0.0);
    std::vector<i64> first = read_array<i64>(arrays, "first", {met}), second = read_array<i64>(arrays, "second", {met});
    std::vector<double> won = counted(arrays, "won", met, 0.0), lost = counted(arrays, "lost", met, 0.0);
    for (i64 k = 0; k < met; k++) {
        i64 i = first[static_cast<std::size_t>(k)], j = second[static_cast<std::size_t>(k)];
        check(i >= 0 && i < j && j < n, "wins are of arms that are not there");
        wins[state.at(i, j)] = won[static_cast<std::size_t>(k)];
        wins[state.at(j, i)] = lost[static_cast<std::size_t>(k)];
    }
    state.set_wins(std::move(wins));
    state.integers = read_array<i64>(arrays, "notes", {length_of(arrays, "notes")});
    state.reals = counted(arrays, "tallies", length_of(arrays, "tallies"), -LARGEST_COUNT);
    bool blank = state.integers.empty() && state.reals.empty();
    check(n == 0 ? blank : policy.rule->is_valid_state(state), "the notes are not those of the rule");
    policy.pending.clear();
    policy.set(std::move(state));
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.attr("MOST_COUNTED") = MAX_COUNTING_ARMS;
    nb::class_<CountingRule>(m, "CountingRule");
    m.def(
        "make_counting_rule",
        [](const std::string& policy, const std::map<std::string, double>& hyperparameters) {
            return std::shared_ptr<CountingRule>(make_counting_rule(policy, Hyperparameters(hyperparameters)));
        },
        "policy"_a, "settings"_a);
    m.def("counting_rule_names", &counting_rule_names);
    nb::class_<LiveCountingPolicy>(m, "CountingPlayer")
        .def(
            "__init__",
            [](LiveCountingPolicy* self, std::shared_ptr<CountingRule> rule, Words words) {
                check(rule != nullptr, "a player needs a rule");
                new (self) LiveCountingPolicy(std::move(rule));
                std::copy(words.data(), words.data() + 4, self->state.random.words.begin());
            },
            "rule"_a, "words"_a)
        .def("ask", &ask, "arms"_a, "distinct"_a, "exclude"_a)
        .def("consider", &consider, "arms"_a, "waiting"_a, "layers"_a, "words"_a.none(), "distinct"_a, "exclude"_a)
        .def("tell", &tell, "number"_a, "outcome"_a, "weight"_a)
        .def("learn", &learn, "arms"_a, "outcome"_a, "weight"_a, "layer"_a)
        .def(
            "forget", [](LiveCountingPolicy& policy, i64 id) { return policy.pending.erase(id) == 1; }, "number"_a)
        .def(
            "begin",
            [](LiveCountingPolicy& policy, Whole arms) {
                check_arms(policy, arms);
                policy.add_arms(arms.data(), static_cast<i64>(arms.shape(0)));
            },
            "arms"_a)
        .def(
            "unseen",
            [](LiveCountingPolicy& policy, Whole arms) {
                return policy.unseen(arms.data(), static_cast<i64>(arms.shape(0)));
            },
            "arms"_a)
        .def("wins",
             [](LiveCountingPolicy& policy) {
                 return copied(policy.state.wins().data(), {policy.state.n, policy.state.n});
             })
        .def_prop_ro(
            "names", [](LiveCountingPolicy& policy) { return copied(policy.state.names); }, nb::rv_policy::move)
        .def_prop_ro("votes", [](LiveCountingPolicy& policy) { return policy.state.votes; })
        .def_prop_rw(
            "next_id", [](LiveCountingPolicy& policy) { return policy.next_id; },
            [](LiveCountingPolicy& policy, i64 number) {
                check(number >= 0 && number <= MAX_ROUNDS, "next_id is not what it may be");
                policy.next_id = number;
            })
        .def(
            "asked_as",
            [](LiveCountingPolicy& policy, i64 id) -> std::optional<std::pair<i64, i64>> {
                auto found = policy.pending.find(id);
                if (found == policy.pending.end()) return std::nullopt;
                return std::pair(found->second.first, found->second.second);
            },
            "number"_a)
        .def("pending",
             [](LiveCountingPolicy& policy) {
                 std::vector<std::tuple<i64, i64, i64, i64, i64, i64>> out;
                 for (const auto& [id, duel] : policy.pending)
                     out.push_back({id, duel.first, duel.second, duel.duel.first, duel.duel.second, duel.duel.layer});
                 return out;
             })
        .def(
            "put_pending",
            [](LiveCountingPolicy& policy, i64 id, i64 first, i64 second, i64 one, i64 other, i64 layer) {
                check(id >= 0 && id < policy.next_id && first >= 0 && second >= 0 && one >= 0 && other >= 0 &&
                          one < policy.state.n && other < policy.state.n && layer >= 0 && layer < MAX_LAYERS,
                      "a pending duel does not fit what is known");
                policy.pending.insert_or_assign(id, PendingCountingDuel{{one, other, layer}, first, second});
            },
            "number"_a, "first"_a, "second"_a, "one"_a, "other"_a, "layer"_a)
        .def("arrays", &arrays)
        .def("set_arrays", &set_arrays, "arrays"_a);
}

}  // namespace duelist
