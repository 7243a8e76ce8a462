#include "model/arm_effects.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/incremental_fit.hpp"

namespace duelist {

namespace {

constexpr i64 FIRST_SLOTS = 16;

// The log of the integral of exp(mass (outcome g - M(g))) over g ~ N(margin, square), by adaptive Gauss-Hermite
// quadrature (Liu and Pierce 1994) with five nodes around the maximum of the integrand, margin + step square. One node
// is Laplace's approximation.
double log_vote_probability(Link link, double margin, double square, double step, double mass, double outcome) {
    constexpr std::array<double, 5> NODE{-2.8569700138728056, -1.3556261799742659, 0.0, 1.3556261799742659,
                                         2.8569700138728056};
    constexpr std::array<double, 5> WEIGHT{0.01125741132772069, 0.22207592200561264, 0.53333333333333333,
                                           0.22207592200561264, 0.01125741132772069};
    if (!(square > 0.0)) return mass * (outcome * margin - potential(link, margin));
    double mode = margin + step * square;
    double spread = std::sqrt(square / (1.0 + mass * slope(link, mode) * square));
    std::array<double, 5> exponent;
    for (std::size_t k = 0; k < NODE.size(); k++) {
        double gap = mode + spread * NODE[k], from = gap - margin;
        exponent[k] =
            mass * (outcome * gap - potential(link, gap)) - 0.5 * from * from / square + 0.5 * NODE[k] * NODE[k];
    }
    double largest = *std::max_element(exponent.begin(), exponent.end()), total = 0.0;
    for (std::size_t k = 0; k < NODE.size(); k++) total += WEIGHT[k] * std::exp(exponent[k] - largest);
    return largest + std::log(total) + 0.5 * std::log(spread * spread / square);
}

}  // namespace

ArmEffectsState::ArmEffectsState(Link link, std::vector<double> variance, double effect_variance_,
                                 double feature_variance_, i64 block)
    : dim(static_cast<i64>(variance.size())),
      link(link),
      effect_variance(effect_variance_),
      feature_variance(feature_variance_),
      theta(variance.size()),
      theta_variance(std::move(variance)),
      scale(dim),
      block_(block) {
    grow(std::min(FIRST_SLOTS, block_));
    for (i64 k = 0; k < dim; k++) covariance_[k * stride_ + k] = theta_variance[k];
}

// -- feature scale --------------------------------------------------------------------------

void ArmEffectsState::observe_arms(const double* arms, i64 n) {
    if (uses_ == 0) set_unknown_scale(arms, n);
}

// Set the scale of features that have none. Before the first vote, the number of scaled features sets the prior
// variance.
void ArmEffectsState::set_unknown_scale(const double* arms, i64 n) {
    AlignedDoubles wanted;
    if (!scale.any_unknown() || !scale.scale_unknown(arms, n, dim, wanted)) return;
    if (uses_ == 0) n_scaled_features = dim - std::count(scale.unknown.begin(), scale.unknown.end(), 1);
    adopt_scale(wanted);
}

std::optional<ArmEffectsState> ArmEffectsState::for_round(const double* arms, i64 n) const {
    std::optional<ArmEffectsState> seen;
    if (scale.any_unknown()) {
        seen = *this;
        seen->set_unknown_scale(arms, n);
    }
    RoundScale other = (seen ? seen->scale : scale).inspect(arms, n, dim);
    if (!other.differs) return seen;
    if (!seen) seen = *this;
    seen->scale.accept(other, dim);
    seen->adopt_scale(other.squared);
    return seen;
}

double ArmEffectsState::prior_variance(i64 k) const {
    if (scale.unknown[static_cast<std::size_t>(k)]) return 0.0;
    return std::min(feature_variance / static_cast<double>(n_scaled_features) / scale.squared[k],
                    std::numeric_limits<double>::max());
}

// Reset to the prior, but keep the feature scale.
void ArmEffectsState::reset() {
    std::fill(theta.begin(), theta.end(), 0.0);
    effects_.clear();
    arm_in_slot_.clear();
    last_use_.clear();
    uses_ = 0;
    log_evidence = 0.0;
    for (i64 k = 0; k < dim; k++) {
        std::fill(covariance_.data() + k * stride_, covariance_.data() + k * stride_ + dim, 0.0);
        theta_variance[static_cast<std::size_t>(k)] = covariance_[k * stride_ + k] = prior_variance(k);
    }
}

// A new scale changes the prior under the votes. While all votes are stored, they are learned again from the start,
// because votes learned at a scale far too small hardly moved the margins.
void ArmEffectsState::adopt_scale(const AlignedDoubles& wanted) {
    scale.squared = wanted;
    scale.just_found_atypical = false;
    if (uses_ != 2 * static_cast<i64>(early_votes.size())) {
        for (i64 k = 0; k < dim; k++) change_prior(k, prior_variance(k));
        return;
    }
    reset();
    for (const EarlyVote& vote : early_votes)
        add_vote({vote.first, vote.second, vote.difference.data()}, vote.outcome, vote.mass);
}

// Change the prior of theta_k. The precision C^-1 + d e e' has covariance C - d / (1 + d C_kk) C e e' C; the mean moves
// along.
void ArmEffectsState::change_prior(i64 k, double variance) {
    double& before = theta_variance[static_cast<std::size_t>(k)];
    if (variance == before) return;
    if (before == 0.0) {  // no vote has involved the feature
        covariance_[k * stride_ + k] = variance;
    } else {
        // 1 + d C_kk without cancellation: C_kk is hardly below `before` if little was learned.
        double effect_variance_ = covariance_row(k)[k],
               left = std::max(0.0, 1.0 - effect_variance_ / before) + effect_variance_ / variance;
        double part = (1.0 / variance - 1.0 / before) / left, step = part * theta[k];
        double* reach = reach_.data();
        std::copy(covariance_row(k), covariance_row(k) + size(), reach);
        for (i64 f = 0; f < dim; f++) theta[f] -= step * reach[f];
        for (i64 s = 0; s < slots(); s++) effects_[arm_in_slot_[s]].mean -= step * reach[dim + s];
        double root = std::sqrt(std::fabs(part));
        for (i64 j = 0; j < size(); j++) reach[j] *= root;
        subtract_square(part < 0.0 ? -1.0 : 1.0);
    }
    before = variance;
}

// -- votes -----------------------------------------------------------------------------------

double ArmEffectsState::margin_of(const ArmComparison& seen) const {
    double margin = mean_of(seen.first) - mean_of(seen.second);
    for (i64 f = 0; f < dim; f++) margin += seen.difference[f] * theta[f];
    return margin;
}

double ArmEffectsState::variance_of(i64 arm) const {
    if (!has_effect(arm)) return effect_variance;
    const ArmEffect& term = effects_[arm];
    return term.slot < 0 ? term.variance : covariance_row_of_slot(term.slot)[dim + term.slot];
}

// Make room for `slots` arms in the block.
void ArmEffectsState::grow(i64 slots) {
    i64 stride = padded(dim + slots);
    if (stride <= stride_) return;
    AlignedDoubles larger(stride * stride);
    if (stride_ > 0)
        for (i64 k = 0; k < size(); k++)
            std::copy(covariance_row(k), covariance_row(k) + size(), larger.data() + k * stride);
    covariance_ = std::move(larger);
    stride_ = stride;
    reach_.fit(stride);
}

// The slot for an arm that enters the block: a new one, or that of the arm compared least recently. The arm that leaves
// keeps its variance and is independent of all others from then on.
i64 ArmEffectsState::slot_for(i64 arm, i64 partner) {
    if (slots() < block_) {
        i64 slot = slots();
        if (dim + slot + 1 > stride_) grow(std::min(2 * (slot + 1), block_));
        arm_in_slot_.push_back(arm);
        last_use_.push_back(0);
        return slot;
    }
    i64 slot = -1;
    for (i64 s = 0; s < block_; s++)
        if (arm_in_slot_[s] != partner && (slot < 0 || last_use_[s] < last_use_[slot])) slot = s;
    ArmEffect& leaving = effects_[arm_in_slot_[slot]];
    leaving.variance = covariance_row_of_slot(slot)[dim + slot];
    leaving.slot = -1;
    arm_in_slot_[slot] = arm;
    return slot;
}

void ArmEffectsState::bring_into_block(i64 arm, i64 partner) {
    if (!has_effect(arm)) effects_.resize(static_cast<std::size_t>(arm) + 1, {0.0, effect_variance, -1});
    if (effects_[arm].slot < 0) {
        i64 slot = slot_for(arm, partner), at = dim + slot;
        for (i64 k = 0; k < size(); k++) covariance_[at * stride_ + k] = covariance_[k * stride_ + at] = 0.0;
        covariance_[at * stride_ + at] = effects_[arm].variance;
        effects_[arm].slot = slot;
    }
    last_use_[effects_[arm].slot] = ++uses_;
}

// Set reach_ = C z, where z has the feature difference, 1 for the first arm and -1 for the second. Return z . C z.
double ArmEffectsState::compute_reach(const ArmComparison& seen) {
    i64 first = effects_[seen.first].slot, second = effects_[seen.second].slot, n = size();
    const double *plus = covariance_row_of_slot(first), *minus = covariance_row_of_slot(second);
    double* reach = reach_.data();
    for (i64 k = 0; k < n; k++) reach[k] = plus[k] - minus[k];
    for (i64 f = 0; f < dim; f++) {
        const double* from = covariance_row(f);
        double z = seen.difference[f];
        if (z == 0.0) continue;
        for (i64 k = 0; k < n; k++) reach[k] += z * from[k];
    }
    double total = reach[dim + first] - reach[dim + second];
    for (i64 f = 0; f < dim; f++) total += seen.difference[f] * reach[f];
    return std::max(total, 0.0);
}

// C -= factor (C z)(C z)'. Both sides are scaled by the root of the factor, so that C stays exactly symmetric.
void ArmEffectsState::shrink_covariance(double factor) {
    double root = std::sqrt(factor);
    for (i64 k = 0; k < size(); k++) reach_[k] *= root;
    subtract_square(1.0);
}

// C -= sign reach reach'.
void ArmEffectsState::subtract_square(double sign) {
    i64 n = size();
    const double* reach = reach_.data();
    for (i64 i = 0; i < n; i++) {
        double part = sign * reach[i], *at = covariance_.data() + i * stride_;
        if (part == 0.0) continue;  // no vote connects this arm with the two
        double least = 0x1p-50 * at[i];
        for (i64 k = 0; k < n; k++) at[k] -= part * reach[k];
        at[i] = std::max(at[i], least);  // if nearly all of a variance goes, rounding may make it negative
    }
}

bool ArmEffectsState::learn(ArmComparison seen, double outcome, double mass) {
    if (seen.first == seen.second) return false;
    std::vector<double> turned;
    if (seen.first > seen.second) {  // the order of the arms must not change the result
        for (i64 f = 0; f < dim; f++) turned.push_back(0.0 - seen.difference[f]);
        seen = {seen.second, seen.first, turned.data()};
        outcome = 1.0 - outcome;
    }
    AlignedDoubles wanted;
    if (scale.observe(seen.difference, dim, mass, wanted)) adopt_scale(wanted);
    store_vote({seen.first, seen.second, {seen.difference, seen.difference + dim}, outcome, mass});
    add_vote(seen, outcome, mass);
    return true;
}

// Keep votes while the first arms may still turn out to be atypical.
void ArmEffectsState::store_vote(EarlyVote vote) {
    if (scale.early() && has_all_early_votes) early_votes.push_back(std::move(vote));
    if (static_cast<i64>(early_votes.size()) > FeatureScale::MAX_EARLY_VOTES) has_all_early_votes = false;
    if (!(scale.early() && has_all_early_votes)) early_votes = {};
}

// Outliers count for less.
void ArmEffectsState::add_vote(const ArmComparison& seen, double outcome, double mass) {
    mass *= scale.influence(seen.difference, dim);
    bring_into_block(seen.first, seen.second);
    bring_into_block(seen.second, seen.first);
    double square = compute_reach(seen), margin = margin_of(seen);
    double step = implicit_step(link, margin, square, mass, mass * outcome, UNTIL_CONVERGED);
    log_evidence += log_vote_probability(link, margin, square, step, mass, outcome);
    for (i64 f = 0; f < dim; f++) theta[f] += step * reach_[f];
    for (i64 s = 0; s < slots(); s++) effects_[arm_in_slot_[s]].mean += step * reach_[dim + s];
    double curvature = mass * slope(link, margin + step * square);
    shrink_covariance(curvature / (1.0 + curvature * square));
}

void ArmEffectsState::add_expected(const ArmComparison& seen, double mass) {
    if (seen.first == seen.second) return;
    bring_into_block(seen.first, seen.second);
    bring_into_block(seen.second, seen.first);
    double square = compute_reach(seen), margin = margin_of(seen);
    double curvature = mass * scale.influence(seen.difference, dim) * slope(link, margin);
    shrink_covariance(curvature / (1.0 + curvature * square));
}

void ArmEffectsState::restore(std::vector<ArmEffect> effects, std::vector<i64> arms_in_block,
                              std::vector<i64> last_uses, i64 uses, const std::vector<double>& lower_half) {
    effects_ = std::move(effects);
    arm_in_slot_ = std::move(arms_in_block);
    last_use_ = std::move(last_uses);
    uses_ = uses;
    i64 n = size(), stride = padded(n), at = 0;
    stride_ = stride;
    covariance_ = AlignedDoubles(stride * stride);
    reach_.fit(stride);
    for (i64 i = 0; i < n; i++)
        for (i64 k = 0; k <= i; k++) covariance_[i * stride + k] = covariance_[k * stride + i] = lower_half[at++];
}

}  // namespace duelist
