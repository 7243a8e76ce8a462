// Arm effects with unknown prior variances: one posterior for each pair of candidate variances, weighted by evidence.
//
// Model m has the prior variances v_m of arm effects and f_m of features (`arm_effects.hpp`) and the log weight
//
//     log p_m + sum over votes of log p(vote | earlier votes, model m),
//
// up to a constant. All models learn every vote; the one with the largest weight decides. For rules that must not stop
// exploring too early, the widest one decides that is almost as likely, or one drawn by its weight. A model whose weight
// falls below e^-NEGLIGIBLE times the largest is dropped (Occam's window: Madigan and Raftery 1994). After a few
// hundred votes only a few are left.
#pragma once

#include <vector>

#include "model/arm_effects.hpp"
#include "model/tie_parameter.hpp"
#include "numerics/parallel.hpp"
#include "numerics/random.hpp"

namespace duelist {

enum class DecidingModel { likeliest, widest, drawn };

struct WeightedArmEffects {
    double log_prior;
    ArmEffectsState state;

    double log_weight() const { return log_prior + state.log_evidence; }
};

class ArmEffectsMixture {
public:
    static constexpr double NEGLIGIBLE = 10.0;
    static constexpr double PLAUSIBLE = 2.0;

    std::vector<WeightedArmEffects> models;  // never empty
    Sfc64 random;
    InUse in_use;
    TieParameter ties;

    // The model that decides; `random` is used only to draw one.
    const ArmEffectsState& deciding(DecidingModel which, Sfc64& random) const {
        if (which == DecidingModel::widest) return widest();
        return which == DecidingModel::drawn ? drawn(random) : best();
    }

    const ArmEffectsState& best() const { return models[index_of_best()].state; }

    std::size_t index_of_best() const {  // the first of equals
        std::size_t best = 0;
        for (std::size_t k = 1; k < models.size(); k++)
            if (models[k].log_weight() > models[best].log_weight()) best = k;
        return best;
    }

    // The model with the largest prior variances of those with at least e^-PLAUSIBLE times the largest weight; of equals
    // the one with the largest weight.
    const ArmEffectsState& widest() const {
        auto breadth = [](const WeightedArmEffects& model) {
            return model.state.effect_variance + (model.state.dim > 0 ? model.state.feature_variance : 0.0);
        };
        std::size_t widest = index_of_best();
        double least = models[widest].log_weight() - PLAUSIBLE;
        for (std::size_t k = 0; k < models.size(); k++) {
            if (models[k].log_weight() < least) continue;
            double wider = breadth(models[k]) - breadth(models[widest]);
            if (wider > 0.0 || (wider == 0.0 && models[k].log_weight() > models[widest].log_weight())) widest = k;
        }
        return models[widest].state;
    }

    // A model, drawn with probability in proportion to its weight.
    const ArmEffectsState& drawn(Sfc64& random) const {
        double largest = models[index_of_best()].log_weight(), total = 0.0;
        auto share = [&](const WeightedArmEffects& model) { return exp(model.log_weight() - largest); };
        for (const WeightedArmEffects& model : models) total += share(model);
        double left = random.uniform() * total;
        for (const WeightedArmEffects& model : models) {
            left -= share(model);
            if (left < 0.0) return model.state;
        }
        return models.back().state;
    }

    void observe_arms(const double* arms, i64 n) {
        for (WeightedArmEffects& model : models) model.state.observe_arms(arms, n);
    }

    void learn(const ArmComparison& seen, double outcome, double mass, bool tie) {
        if (seen.first == seen.second) return;
        count_tie(seen, tie, mass);
        for (WeightedArmEffects& model : models) model.state.learn(seen, outcome, mass);
        double least = models[index_of_best()].log_weight() - NEGLIGIBLE;
        // While early votes may be learned again, their evidence may change.
        if (!best().scale.early())
            std::erase_if(models, [&](const WeightedArmEffects& model) { return model.log_weight() < least; });
    }

private:
    // Count a vote for the parameter of ties, by the estimate of the likeliest model; all models share the link.
    void count_tie(const ArmComparison& seen, bool tie, double mass) {
        const ArmEffectsState& likeliest = best();
        Link link = likeliest.link;
        if (link.kind != Link::Kind::logistic) return;
        ties.exposure += mass * TieParameter::exposure_of(likeliest.margin_of(seen), link.nu);
        if (!ties.count(tie, mass)) return;
        link.nu = ties.solve(link.nu, [&](double) { return ties.exposure; });
        for (WeightedArmEffects& model : models) model.state.link = link;
    }
};

}  // namespace duelist
