// All selection rules by policy name.
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

using Factory = std::function<std::unique_ptr<SelectionRule>(const Hyperparameters&)>;

template <class R>
Factory factory() {
    return [](const Hyperparameters& hyperparameters) { return std::make_unique<R>(hyperparameters); };
}

const std::map<std::string, Factory>& factories() {
    static const std::map<std::string, Factory> all = {
        {"APO", factory<APO>()},
        {"BestArmPair", factory<BestArmPair>()},
        {"CoLSTIM", factory<CoLSTIM>()},
        {"DRTS", factory<DRTS>()},
        {"DeltaUCB", factory<DeltaUCB>()},
        {"DesignPair", factory<DesignPair>()},
        {"GreedyChallenger", factory<GreedyChallenger>()},
        {"GreedyUniform", factory<GreedyUniform>()},
        {"InfoMax", factory<InfoMax>()},
        {"LocalPairUCB", factory<LocalPairUCB>()},
        {"MaxInP", factory<MaxInP>()},
        {"MaxMinLCB", factory<MaxMinLCB>()},
        {"MaxPairUCB", factory<MaxPairUCB>()},
        {"RCDB", factory<RCDB>()},
        {"RankingPair", factory<RankingPair>()},
        {"RewardDesign", factory<RewardDesign>()},
        {"StaD", factory<StaD>()},
        {"SupCoLSTIM", factory<SupCoLSTIM>()},
        {"ThompsonPair", factory<ThompsonPair>()},
        {"UniformPair", factory<UniformPair>()},
        {"VACDB", factory<VACDB>()},
    };
    return all;
}

}  // namespace

std::vector<std::string> selection_rule_names() {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories()) names.push_back(name);
    return names;
}

std::unique_ptr<SelectionRule> make_selection_rule(const std::string& policy, const Hyperparameters& hyperparameters) {
    auto found = factories().find(policy);
    if (found == factories().end()) throw std::invalid_argument("There is no selection rule for '" + policy + "'.");
    std::unique_ptr<SelectionRule> rule = found->second(hyperparameters);
    hyperparameters.check_all_read();
    return rule;
}

}  // namespace duelist
