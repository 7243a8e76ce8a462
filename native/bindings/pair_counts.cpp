// Votes by pair of arms: written into arrays, read from arrays that anybody may have damaged; and who arms are.
#include <nanobind/stl/optional.h>

#include "bindings/arrays.hpp"

namespace duelist {

namespace {

// Arrays by name; None: not all votes were counted.
std::optional<nb::dict> arrays_of(LivePolicy& policy) {
    if (!policy.tally.whole()) return std::nullopt;
    std::vector<u64> first, second;
    std::vector<double> mass, wins;
    for (const PairCounts::PairCount& each : policy.tally.pairs()) {
        first.push_back(each.arms.first);
        second.push_back(each.arms.second);
        mass.push_back(each.mass);
        wins.push_back(each.wins);
    }
    nb::dict out;
    out["first"] = copied(first);
    out["second"] = copied(second);
    out["mass"] = copied(mass);
    out["wins"] = copied(wins);
    return out;
}

void put(LivePolicy& policy, const nb::dict& arrays) {
    known(policy);
    if (nb::len(arrays) != 4 || !arrays.contains("first"))
        throw std::invalid_argument("a tally has first, second, mass and wins");
    i64 n = static_cast<i64>(nb::len(nb::object(arrays["first"])));
    auto first = read_array<u64>(arrays, "first", {n}), second = read_array<u64>(arrays, "second", {n});
    auto mass = finite(read_array<double>(arrays, "mass", {n}), "mass", 0.0);
    auto wins = finite(read_array<double>(arrays, "wins", {n}), "wins", 0.0);
    if (n > 0 && !known(policy).has_learned())
        throw std::invalid_argument("votes are counted of which nothing was learned");
    PairCounts counted(policy.max_counted_pairs());
    for (std::size_t k = 0; k < first.size(); k++) {
        if (!(mass[k] > 0.0)) throw std::invalid_argument("a pair is counted that was never compared");
        if (wins[k] > mass[k]) throw std::invalid_argument("a pair was won more often than it was compared");
        if (!(first[k] < second[k])) throw std::invalid_argument("the arms of a pair are not in their order");
        counted.add({{first[k], second[k]}, mass[k], wins[k]});
    }
    if (counted.pairs().size() != first.size())
        throw std::invalid_argument("a pair is counted twice, or pairs are too many");
    policy.tally = std::move(counted);
}

nb::ndarray<nb::numpy, u64> arm_fingerprints(Matrix arms) {
    i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1));
    std::vector<u64> prints;
    for (i64 a = 0; a < n; a++) prints.push_back(fingerprint(arms.data() + a * dim, dim));
    return copied(prints);
}

}  // namespace

void bind_pair_counts(nb::module_& m) {
    m.attr("MOST_TALLIED") = PairCounts::MOST;
    m.def("tally_of", &arrays_of, "player"_a);
    m.def("put_tally", &put, "player"_a, "arrays"_a);
    m.def("arm_fingerprints", &arm_fingerprints, "arms"_a);
}

}  // namespace duelist
