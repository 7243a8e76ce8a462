// All rules that count wins, by the names of their policies.
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

using Maker = std::function<std::unique_ptr<CountingRule>(const Settings&)>;

template <class R>
Maker maker() {
    return [](const Settings& settings) { return std::make_unique<R>(settings); };
}

const std::map<std::string, Maker>& makers() {
    static const std::map<std::string, Maker> all = {
        {"BeatTheMean", maker<BeatTheMean>()},
        {"BordaElimination", maker<BordaElimination>()},
        {"CCB", maker<CCB>()},
        {"DTS", maker<DTS>()},
        {"InterleavedFilter", maker<InterleavedFilter>()},
        {"MergeDTS", maker<MergeDTS>()},
        {"MergeRUCB", maker<MergeRUCB>()},
        {"RMED", maker<RMED>()},
        {"RUCB", maker<RUCB>()},
        {"WSS", maker<WSS>()},
        {"WSW", maker<WSW>()},
    };
    return all;
}

}  // namespace

std::vector<std::string> counting_rule_names() {
    std::vector<std::string> names;
    for (const auto& [name, maker] : makers()) names.push_back(name);
    return names;
}

std::unique_ptr<CountingRule> make_counting_rule(const std::string& policy, const Settings& settings) {
    auto found = makers().find(policy);
    if (found == makers().end()) throw std::invalid_argument("the engine has no counting rule '" + policy + "'");
    std::unique_ptr<CountingRule> rule = found->second(settings);
    settings.check_all_read();
    return rule;
}

}  // namespace duelist
