// The posterior of a model with arm effects: the utility of arm a is x_a . theta + u_a, or u_a if arms have no
// features.
//
// The prior is theta_k ~ N(0, v_k) and u_a ~ N(0, v), all independent, with v_k = f / (m s_k). Here s_k is the scale of
// feature k (`feature_scale.hpp`) and m the number of features in which the first arms differ, so that features
// contribute f to the variance of a utility, and arm effects v. A feature in which no arms have differed yet has
// v_k = 0. `arm_effects_mixture.hpp` chooses v and f.
//
// The posterior is normal. Its covariance is stored in full for theta and for a block of arms, those compared most
// recently. An arm outside the block has a mean and a variance, and counts as independent of everything else. As long
// as all compared arms fit in the block, this is the one-pass estimate of `incremental_fit.hpp` with an indicator
// feature per arm, at a cost that does not grow with the number of arms.
#pragma once

#include <optional>
#include <vector>

#include "model/feature_scale.hpp"
#include "model/links.hpp"
#include "numerics/buffer.hpp"

namespace duelist {

inline constexpr i64 MAX_ARM_ID = i64{1} << 24;

// A comparison: the ids of two arms, and the features of the first minus those of the second.
struct ArmComparison {
    i64 first, second;
    const double* difference;
};

class ArmEffectsState {
public:
    i64 dim;
    Link link;
    double effect_variance, feature_variance;  // v and f
    double log_evidence = 0.0;                 // log probability of the votes, each given those before
    std::vector<double> theta, theta_variance;
    FeatureScale scale;
    i64 n_scaled_features = 1;  // m: the number of features that share the prior variance

    // A vote as it was reported.
    struct EarlyVote {
        i64 first, second;
        std::vector<double> difference;
        double outcome, mass;
    };
    std::vector<EarlyVote> early_votes;  // kept while the first arms may still turn out to be atypical
    bool has_all_early_votes = true;     // whether `early_votes` are all votes so far

    ArmEffectsState(Link link, std::vector<double> theta_variance, double effect_variance, double feature_variance,
                    i64 block);

    // Use the arms of a round to scale features that have no scale yet. Has no effect once votes were learned.
    void observe_arms(const double* arms, i64 n);

    // The posterior for deciding about these arms. A copy if they scale a feature or show that the scale is not typical
    // of them. The stored state depends on votes alone.
    std::optional<ArmEffectsState> for_round(const double* arms, i64 n) const;

    // Learn a vote; `outcome` is the share of the win of the first arm. Return false for an arm compared with itself.
    bool learn(ArmComparison seen, double outcome, double mass);

    // Account for a pending duel as if its outcome were the expected one: only the covariance changes.
    void add_expected(const ArmComparison& seen, double mass);

    i64 block() const { return block_; }
    i64 slots() const { return static_cast<i64>(arm_in_slot_.size()); }
    i64 size() const { return dim + slots(); }
    i64 slot_of(i64 arm) const { return has_effect(arm) ? effects_[arm].slot : -1; }
    double mean_of(i64 arm) const { return has_effect(arm) ? effects_[arm].mean : 0.0; }
    // The mean of the difference of two utilities.
    double margin_of(const ArmComparison& seen) const;
    // The variance of an arm's effect.
    double variance_of(i64 arm) const;
    // A row of the covariance: theta first, then the arms of the block.
    const double* covariance_row(i64 k) const { return covariance_.data() + k * stride_; }
    const double* covariance_row_of_slot(i64 slot) const { return covariance_row(dim + slot); }

    // -- snapshots
    struct ArmEffect {
        double mean, variance;  // the variance is valid only outside the block
        i64 slot;
    };
    const std::vector<ArmEffect>& effects() const { return effects_; }
    const std::vector<i64>& arms_in_block() const { return arm_in_slot_; }
    const std::vector<i64>& last_uses() const { return last_use_; }
    i64 uses() const { return uses_; }
    void restore(std::vector<ArmEffect> effects, std::vector<i64> arms_in_block, std::vector<i64> last_uses, i64 uses,
                 const std::vector<double>& lower_half);

private:
    i64 block_, stride_ = 0;
    i64 uses_ = 0;                    // arms used so far, two per vote
    std::vector<ArmEffect> effects_;  // by arm id
    std::vector<i64> arm_in_slot_;    // by slot
    std::vector<i64> last_use_;       // when the arm of each slot was compared last
    AlignedDoubles covariance_, reach_;

    void set_unknown_scale(const double* arms, i64 n);
    void store_vote(EarlyVote vote);
    void adopt_scale(const AlignedDoubles& wanted);
    void reset();
    double prior_variance(i64 feature) const;
    void change_prior(i64 feature, double variance);
    void add_vote(const ArmComparison& seen, double outcome, double mass);
    void subtract_square(double sign);
    bool has_effect(i64 arm) const { return arm < static_cast<i64>(effects_.size()); }
    void grow(i64 slots);
    void bring_into_block(i64 arm, i64 partner);
    i64 slot_for(i64 arm, i64 partner);
    double compute_reach(const ArmComparison& seen);
    void shrink_covariance(double factor);
};

}  // namespace duelist
