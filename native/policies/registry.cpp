// All rules by the names of their policies.
#include <functional>

#include "policies/apo.hpp"
#include "policies/best_arm_pair.hpp"
#include "policies/colstim.hpp"
#include "policies/delta_ucb.hpp"
#include "policies/design_pair.hpp"
#include "policies/drts.hpp"
#include "policies/greedy_challenger.hpp"
#include "policies/greedy_uniform.hpp"
#include "policies/info_max.hpp"
#include "policies/local_pair_ucb.hpp"
#include "policies/max_in_p.hpp"
#include "policies/max_min_lcb.hpp"
#include "policies/max_pair_ucb.hpp"
#include "policies/ranking_pair.hpp"
#include "policies/rcdb.hpp"
#include "policies/reward_design.hpp"
#include "policies/stad.hpp"
#include "policies/sup_colstim.hpp"
#include "policies/thompson_pair.hpp"
#include "policies/uniform_pair.hpp"
#include "policies/vacdb.hpp"

namespace duelist {

namespace {

using Maker = std::function<std::unique_ptr<Rule>(const Settings&)>;

template <class R>
Maker maker() {
    return [](const Settings& settings) { return std::make_unique<R>(settings); };
}

const std::map<std::string, Maker>& makers() {
    static const std::map<std::string, Maker> all = {
        {"APO", maker<APO>()},
        {"BestArmPair", maker<BestArmPair>()},
        {"CoLSTIM", maker<CoLSTIM>()},
        {"DRTS", maker<DRTS>()},
        {"DeltaUCB", maker<DeltaUCB>()},
        {"DesignPair", maker<DesignPair>()},
        {"GreedyChallenger", maker<GreedyChallenger>()},
        {"GreedyUniform", maker<GreedyUniform>()},
        {"InfoMax", maker<InfoMax>()},
        {"LocalPairUCB", maker<LocalPairUCB>()},
        {"MaxInP", maker<MaxInP>()},
        {"MaxMinLCB", maker<MaxMinLCB>()},
        {"MaxPairUCB", maker<MaxPairUCB>()},
        {"RCDB", maker<RCDB>()},
        {"RankingPair", maker<RankingPair>()},
        {"RewardDesign", maker<RewardDesign>()},
        {"StaD", maker<StaD>()},
        {"SupCoLSTIM", maker<SupCoLSTIM>()},
        {"ThompsonPair", maker<ThompsonPair>()},
        {"UniformPair", maker<UniformPair>()},
        {"VACDB", maker<VACDB>()},
    };
    return all;
}

}  // namespace

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const auto& [name, maker] : makers()) names.push_back(name);
    return names;
}

std::unique_ptr<Rule> make_rule(const std::string& policy, const Settings& settings) {
    auto found = makers().find(policy);
    if (found == makers().end()) throw std::invalid_argument("the engine has no rule '" + policy + "'");
    std::unique_ptr<Rule> rule = found->second(settings);
    settings.check_all_read();
    return rule;
}

}  // namespace duelist
