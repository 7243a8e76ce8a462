// All counting rules by policy name.
#include <functional>

#include "counting/beat_the_mean.hpp"
#include "counting/borda_elimination.hpp"
#include "counting/ccb.hpp"
#include "counting/dts.hpp"
#include "counting/interleaved_filter.hpp"
#include "counting/merge.hpp"
#include "counting/rmed.hpp"
#include "counting/rucb.hpp"
#include "counting/winner_stays.hpp"

namespace duelist {

namespace {

using Factory = std::function<std::unique_ptr<CountingRule>(const Hyperparameters&)>;

template <class R>
Factory factory() {
    return [](const Hyperparameters& hyperparameters) { return std::make_unique<R>(hyperparameters); };
}

const std::map<std::string, Factory>& factories() {
    static const std::map<std::string, Factory> all = {
        {"BeatTheMean", factory<BeatTheMean>()},
        {"BordaElimination", factory<BordaElimination>()},
        {"CCB", factory<CCB>()},
        {"DTS", factory<DTS>()},
        {"InterleavedFilter", factory<InterleavedFilter>()},
        {"MergeDTS", factory<MergeDTS>()},
        {"MergeRUCB", factory<MergeRUCB>()},
        {"RMED", factory<RMED>()},
        {"RUCB", factory<RUCB>()},
        {"WSS", factory<WSS>()},
        {"WSW", factory<WSW>()},
    };
    return all;
}

}  // namespace

std::vector<std::string> counting_rule_names() {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories()) names.push_back(name);
    return names;
}

std::unique_ptr<CountingRule> make_counting_rule(const std::string& policy, const Hyperparameters& hyperparameters) {
    auto found = factories().find(policy);
    if (found == factories().end()) throw std::invalid_argument("There is no counting rule for '" + policy + "'.");
    std::unique_ptr<CountingRule> rule = found->second(hyperparameters);
    hyperparameters.check_all_read();
    return rule;
}

}  // namespace duelist
