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
constexpr i64 MOST_LAYERS = 2;

void check(bool good, const char* what) {
    if (!good) throw std::invalid_argument(what);
}

void check_arms(const CountingPlayer& player, const Whole& arms) {
    i64 n = static_cast<i64>(arms.shape(0));
    check(n > 0, "there are no arms");
    std::vector<i64> sorted(arms.data(), arms.data() + n);
    std::sort(sorted.begin(), sorted.end());
    check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "an arm is on the table twice");
    check(sorted.front() >= 0, "an arm has a negative number");
    check(player.ledger.n + player.unseen(arms.data(), n) <= MOST_COUNTED, "there are too many arms");
}

// Pairs of positions as pairs of numbers inside.
PairSet taken_pairs(const Pairs& exclude, const std::vector<i64>& table) {
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

Vote checked_vote(i64 first, i64 second, double outcome, double weight, i64 layer) {
    check(outcome >= 0.0 && outcome <= 1.0 && weight > 0.0 && weight <= LARGEST_WEIGHT, "outcome or weight is not what it may be");
    check(layer >= 0 && layer < MOST_LAYERS, "the vote is in no layer");
    return {first, second, outcome, weight, layer};
}

// The next duel; None: no pair may be asked, and nothing has changed.
std::optional<Duel> ask(CountingPlayer& player, Whole arms, bool distinct, const Pairs& exclude) {
    check_arms(player, arms);
    std::vector<i64> table = player.meet(arms.data(), static_cast<i64>(arms.shape(0)));
    PairSet out = taken_pairs(exclude, table);
    Random random = player.ledger.random;
    Waiting duel = player.decide(table, random, distinct, out.size() ? &out : nullptr, player.waiting());
    if (duel.duel.none()) return std::nullopt;
    player.ledger.random = random;
    player.pending.emplace(player.next_id, duel);
    return Duel(duel.first, duel.second, player.next_id++);
}

// What would be asked; nothing changes. `player` is a copy where there are arms that were never seen: they join with their first vote.
std::optional<Duel> considered(CountingPlayer& player, const Whole& arms, const Pairs& waiting, const Whole& layers,
                               const std::optional<Words>& words, bool distinct, const Pairs& exclude) {
    std::vector<Named> pending;
    for (std::size_t k = 0; k < waiting.shape(0); k++) {
        std::vector<i64> inside = player.meet(waiting.data() + 2 * k, 2);
        pending.push_back({inside[0], inside[1], layers.data()[k]});
    }
    std::vector<i64> table = player.meet(arms.data(), static_cast<i64>(arms.shape(0)));
    PairSet out = taken_pairs(exclude, table);
    Random random = player.ledger.random;
    if (words) std::copy(words->data(), words->data() + 4, random.words.begin());
    Waiting duel = player.decide(table, random, distinct, out.size() ? &out : nullptr, pending);
    if (duel.duel.none()) return std::nullopt;
    return Duel(duel.first, duel.second, duel.duel.layer);
}

std::optional<Duel> consider(CountingPlayer& player, Whole arms, const Pairs& waiting, Whole layers, std::optional<Words> words,
                             bool distinct, const Pairs& exclude) {
    check_arms(player, arms);
    check(waiting.shape(0) == layers.shape(0), "pending duels have no layers");
    i64 count = static_cast<i64>(waiting.shape(0)), n = static_cast<i64>(arms.shape(0));
    for (i64 k = 0; k < 2 * count; k++) check(waiting.data()[k] >= 0, "a pending duel is of no arms");
    for (i64 k = 0; k < count; k++) check(layers.data()[k] >= 0 && layers.data()[k] < MOST_LAYERS, "a pending duel is in no layer");
    i64 unseen = player.unseen(arms.data(), n) + player.unseen(waiting.data(), 2 * count);
    check(player.ledger.n + unseen <= MOST_COUNTED, "there are too many arms");
    if (unseen == 0) return considered(player, arms, waiting, layers, words, distinct, exclude);
    CountingPlayer aside = player;
    return considered(aside, arms, waiting, layers, words, distinct, exclude);
}

void tell(CountingPlayer& player, i64 id, double outcome, double weight) {
    auto found = player.pending.find(id);
    check(found != player.pending.end(), "there is no such duel");
    Named duel = found->second.duel;
    Vote vote = checked_vote(duel.first, duel.second, outcome, weight, duel.layer);
    player.pending.erase(found);
    player.learn(vote);
}

void learn(CountingPlayer& player, Whole arms, double outcome, double weight, i64 layer) {
    check(arms.shape(0) == 2 && arms.data()[0] >= 0 && arms.data()[1] >= 0, "a vote is of two arms");
    check(player.ledger.n + player.unseen(arms.data(), 2) <= MOST_COUNTED, "there are too many arms");
    Vote vote = checked_vote(0, 0, outcome, weight, layer);
    std::vector<i64> inside = player.meet(arms.data(), 2);
    vote.first = inside[0];
    vote.second = inside[1];
    player.learn(vote);
}

// Pairs that have met, with the wins of the first and of the second: most have not.
nb::dict arrays(CountingPlayer& player) {
    const Ledger& ledger = player.ledger;
    std::vector<i64> first, second;
    std::vector<double> won, lost;
    for (i64 i = 0; i < ledger.n; i++)
        for (i64 j = i + 1; j < ledger.n; j++)
            if (ledger.met(i, j) > 0.0) {
                first.push_back(i);
                second.push_back(j);
                won.push_back(ledger.won(i, j));
                lost.push_back(ledger.won(j, i));
            }
    nb::dict made;
    made["votes"] = copied(&ledger.votes, {1});
    made["words"] = copied(ledger.random.words.data(), {4});
    made["names"] = copied(ledger.names);
    made["first"] = copied(first);
    made["second"] = copied(second);
    made["won"] = copied(won);
    made["lost"] = copied(lost);
    made["notes"] = copied(ledger.notes);
    made["tallies"] = copied(ledger.tallies);
    return made;
}

i64 length_of(const nb::dict& arrays, const char* name) {
    if (!arrays.contains(name)) throw std::invalid_argument(std::string("there is no ") + name);
    return static_cast<i64>(nb::len(nb::object(arrays[name])));
}

// Counts that may have come about, and that stay finite when they are added up.
std::vector<double> counted(const nb::dict& arrays, const char* name, i64 length, double least) {
    std::vector<double> numbers = finite(taken<double>(arrays, name, {length}), name, least);
    for (double number : numbers) check(number <= LARGEST_COUNT, "a count is too large");
    return numbers;
}

// What is known, from arrays that may come from anywhere.
void set_arrays(CountingPlayer& player, const nb::dict& arrays) {
    Ledger ledger;
    i64 n = length_of(arrays, "names"), met = length_of(arrays, "first");
    check(n <= MOST_COUNTED, "there are too many arms");
    ledger.votes = taken<i64>(arrays, "votes", {1})[0];
    check(ledger.votes >= 0 && ledger.votes <= MOST_ROUNDS, "the number of votes is not what it may be");
    std::vector<u64> words = taken<u64>(arrays, "words", {4});
    std::copy(words.begin(), words.end(), ledger.random.words.begin());
    ledger.names = taken<i64>(arrays, "names", {n});
    std::vector<i64> sorted = ledger.names;
    std::sort(sorted.begin(), sorted.end());
    bool repeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    check(!repeated && (n == 0 || sorted.front() >= 0), "names are not those of arms");
    ledger.n = n;
    std::vector<double> wins(static_cast<std::size_t>(n * n), 0.0);
    std::vector<i64> first = taken<i64>(arrays, "first", {met}), second = taken<i64>(arrays, "second", {met});
    std::vector<double> won = counted(arrays, "won", met, 0.0), lost = counted(arrays, "lost", met, 0.0);
    for (i64 k = 0; k < met; k++) {
        i64 i = first[static_cast<std::size_t>(k)], j = second[static_cast<std::size_t>(k)];
        check(i >= 0 && i < j && j < n, "wins are of arms that are not there");
        wins[ledger.at(i, j)] = won[static_cast<std::size_t>(k)];
        wins[ledger.at(j, i)] = lost[static_cast<std::size_t>(k)];
    }
    ledger.set_wins(std::move(wins));
    ledger.notes = taken<i64>(arrays, "notes", {length_of(arrays, "notes")});
    ledger.tallies = counted(arrays, "tallies", length_of(arrays, "tallies"), -LARGEST_COUNT);
    bool blank = ledger.notes.empty() && ledger.tallies.empty();
    check(n == 0 ? blank : player.rule->could_have_written(ledger), "the notes are not those of the rule");
    player.pending.clear();
    player.set(std::move(ledger));
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.attr("MOST_COUNTED") = MOST_COUNTED;
    nb::class_<CountingRule>(m, "CountingRule");
    m.def(
        "make_counting_rule",
        [](const std::string& policy, const std::map<std::string, double>& settings) {
            return std::shared_ptr<CountingRule>(make_counting_rule(policy, Settings(settings)));
        },
        "policy"_a, "settings"_a);
    m.def("counting_rule_names", &counting_rule_names);
    nb::class_<CountingPlayer>(m, "CountingPlayer")
        .def(
            "__init__",
            [](CountingPlayer* self, std::shared_ptr<CountingRule> rule, Words words) {
                check(rule != nullptr, "a player needs a rule");
                new (self) CountingPlayer(std::move(rule));
                std::copy(words.data(), words.data() + 4, self->ledger.random.words.begin());
            },
            "rule"_a, "words"_a)
        .def("ask", &ask, "arms"_a, "distinct"_a, "exclude"_a)
        .def("consider", &consider, "arms"_a, "waiting"_a, "layers"_a, "words"_a.none(), "distinct"_a, "exclude"_a)
        .def("tell", &tell, "number"_a, "outcome"_a, "weight"_a)
        .def("learn", &learn, "arms"_a, "outcome"_a, "weight"_a, "layer"_a)
        .def("forget", [](CountingPlayer& player, i64 id) { return player.pending.erase(id) == 1; }, "number"_a)
        .def("begin", [](CountingPlayer& player, Whole arms) {
            check_arms(player, arms);
            player.meet(arms.data(), static_cast<i64>(arms.shape(0)));
        }, "arms"_a)
        .def(
            "unseen",
            [](CountingPlayer& player, Whole arms) { return player.unseen(arms.data(), static_cast<i64>(arms.shape(0))); }, "arms"_a)
        .def("wins", [](CountingPlayer& player) { return copied(player.ledger.wins().data(), {player.ledger.n, player.ledger.n}); })
        .def_prop_ro("names", [](CountingPlayer& player) { return copied(player.ledger.names); }, nb::rv_policy::move)
        .def_prop_ro("votes", [](CountingPlayer& player) { return player.ledger.votes; })
        .def_prop_rw("next_id", [](CountingPlayer& player) { return player.next_id; },
                     [](CountingPlayer& player, i64 number) {
                         check(number >= 0 && number <= MOST_ROUNDS, "next_id is not what it may be");
                         player.next_id = number;
                     })
        .def("asked_as",
             [](CountingPlayer& player, i64 id) -> std::optional<std::pair<i64, i64>> {
                 auto found = player.pending.find(id);
                 if (found == player.pending.end()) return std::nullopt;
                 return std::pair(found->second.first, found->second.second);
             },
             "number"_a)
        .def("pending",
             [](CountingPlayer& player) {
                 std::vector<std::tuple<i64, i64, i64, i64, i64, i64>> out;
                 for (const auto& [id, duel] : player.pending)
                     out.push_back({id, duel.first, duel.second, duel.duel.first, duel.duel.second, duel.duel.layer});
                 return out;
             })
        .def("put_pending",
             [](CountingPlayer& player, i64 id, i64 first, i64 second, i64 one, i64 other, i64 layer) {
                 check(id >= 0 && id < player.next_id && first >= 0 && second >= 0 && one >= 0 && other >= 0 && one < player.ledger.n &&
                           other < player.ledger.n && layer >= 0 && layer < MOST_LAYERS,
                       "a pending duel does not fit what is known");
                 player.pending.insert_or_assign(id, Waiting{{one, other, layer}, first, second});
             },
             "number"_a, "first"_a, "second"_a, "one"_a, "other"_a, "layer"_a)
        .def("arrays", &arrays)
        .def("set_arrays", &set_arrays, "arrays"_a);
}

}  // namespace duelist
