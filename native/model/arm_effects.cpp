#include "model/arm_effects.hpp"

#include <algorithm>
#include <utility>

#include "model/incremental_fit.hpp"

namespace duelist {

namespace {

constexpr i64 FIRST_SLOTS = 16;

}  // namespace

ArmEffectsState::ArmEffectsState(Link link, std::vector<double> variance, double own, i64 block)
    : dim(static_cast<i64>(variance.size())),
      link(link),
      effect_variance(own),
      theta(variance.size()),
      theta_variance(std::move(variance)),
      scale(dim),
      block_(block) {
    grow(std::min(FIRST_SLOTS, block_));
    for (i64 k = 0; k < dim; k++) covariance_[k * stride_ + k] = theta_variance[k];
}

// -- sizes of features -----------------------------------------------------------------------

void ArmEffectsState::meet(const double* arms, i64 n) {
    if (uses_ == 0) set_unknown_scale(arms, n);
}

// Sizes for features that have none; before the first vote their number says how many parts the linear part has.
void ArmEffectsState::set_unknown_scale(const double* arms, i64 n) {
    AlignedDoubles wanted;
    if (!scale.any_unknown() || !scale.meet(arms, n, dim, wanted)) return;
    if (uses_ == 0) parts = dim - std::count(scale.unknown.begin(), scale.unknown.end(), 1);
    adopt_scale(wanted);
}

std::optional<ArmEffectsState> ArmEffectsState::seen_by(const double* arms, i64 n) const {
    std::optional<ArmEffectsState> seen;
    if (scale.any_unknown()) {
        seen = *this;
        seen->set_unknown_scale(arms, n);
    }
    RoundScale other = (seen ? seen->scale : scale).see(arms, n, dim);
    if (!other.unlike) return seen;
    if (!seen) seen = *this;
    seen->scale.believe(other, dim);
    seen->adopt_scale(other.squared);
    return seen;
}

double ArmEffectsState::prior_of(i64 k) const {
    if (scale.unknown[static_cast<std::size_t>(k)]) return 0.0;
    return std::min(effect_variance / static_cast<double>(parts) / scale.squared[k],
                    std::numeric_limits<double>::max());
}

// Nothing is known but how large features are.
void ArmEffectsState::start_over() {
    std::fill(theta.begin(), theta.end(), 0.0);
    effects_.clear();
    arm_in_.clear();
    last_.clear();
    uses_ = 0;
    for (i64 k = 0; k < dim; k++) {
        std::fill(covariance_.data() + k * stride_, covariance_.data() + k * stride_ + dim, 0.0);
        theta_variance[static_cast<std::size_t>(k)] = covariance_[k * stride_ + k] = prior_of(k);
    }
}

// Other sizes: the prior under the votes changes. As long as all votes are there, they are learned once more: in sizes far too small the first ones
// told who is better, and hardly by how much.
void ArmEffectsState::adopt_scale(const AlignedDoubles& wanted) {
    scale.squared = wanted;
    scale.just_found_atypical = false;
    if (uses_ != 2 * static_cast<i64>(early_votes.size())) {
        for (i64 k = 0; k < dim; k++) change_prior(k, prior_of(k));
        return;
    }
    start_over();
    for (const EarlyVote& vote : early_votes)
        take({vote.first, vote.second, vote.difference.data()}, vote.outcome, vote.mass);
}

// The precision of theta_k has another prior in it: C^-1 + d e e' has the covariance C - d / (1 + d C_kk) C e e' C, and the mean that belongs to it.
void ArmEffectsState::change_prior(i64 k, double variance) {
    double& before = theta_variance[static_cast<std::size_t>(k)];
    if (variance == before) return;
    if (before == 0.0) {  // nothing is known of it
        covariance_[k * stride_ + k] = variance;
    } else {
        // 1 + d C_kk, without taking near equals from each other: C_kk is hardly less than before where little was learned.
        double own = line(k)[k], left = std::max(0.0, 1.0 - own / before) + own / variance;
        double part = (1.0 / variance - 1.0 / before) / left, step = part * theta[k];
        double* reach = reach_.data();
        std::copy(line(k), line(k) + size(), reach);
        for (i64 f = 0; f < dim; f++) theta[f] -= step * reach[f];
        for (i64 s = 0; s < slots(); s++) effects_[arm_in_[s]].mean -= step * reach[dim + s];
        double root = std::sqrt(std::fabs(part));
        for (i64 j = 0; j < size(); j++) reach[j] *= root;
        subtract_square(part < 0.0 ? -1.0 : 1.0);
    }
    before = variance;
}

// -- votes -----------------------------------------------------------------------------------

double ArmEffectsState::variance_of(i64 arm) const {
    if (!known(arm)) return effect_variance;
    const ArmEffect& term = effects_[arm];
    return term.slot < 0 ? term.variance : line_of_slot(term.slot)[dim + term.slot];
}

// Room for so many arms in the block.
void ArmEffectsState::grow(i64 slots) {
    i64 stride = padded(dim + slots);
    if (stride <= stride_) return;
    AlignedDoubles larger(stride * stride);
    if (stride_ > 0)
        for (i64 k = 0; k < size(); k++) std::copy(line(k), line(k) + size(), larger.data() + k * stride);
    covariance_ = std::move(larger);
    stride_ = stride;
    reach_.fit(stride);
}

// The slot of an arm that comes into the block: a new one, or that of the arm that was voted on the longest ago, which goes
// on with the variance it has and is independent of the others from now on.
i64 ArmEffectsState::place_for(i64 arm, i64 partner) {
    if (slots() < block_) {
        i64 slot = slots();
        if (dim + slot + 1 > stride_) grow(std::min(2 * (slot + 1), block_));
        arm_in_.push_back(arm);
        last_.push_back(0);
        return slot;
    }
    i64 slot = -1;
    for (i64 s = 0; s < block_; s++)
        if (arm_in_[s] != partner && (slot < 0 || last_[s] < last_[slot])) slot = s;
    ArmEffect& leaving = effects_[arm_in_[slot]];
    leaving.variance = line_of_slot(slot)[dim + slot];
    leaving.slot = -1;
    arm_in_[slot] = arm;
    return slot;
}

void ArmEffectsState::bring_in(i64 arm, i64 partner) {
    if (!known(arm)) effects_.resize(static_cast<std::size_t>(arm) + 1, {0.0, effect_variance, -1});
    if (effects_[arm].slot < 0) {
        i64 slot = place_for(arm, partner), at = dim + slot;
        for (i64 k = 0; k < size(); k++) covariance_[at * stride_ + k] = covariance_[k * stride_ + at] = 0.0;
        covariance_[at * stride_ + at] = effects_[arm].variance;
        effects_[arm].slot = slot;
    }
    last_[effects_[arm].slot] = ++uses_;
}

// reach_ = C z, where z has the difference of the features, 1 for the first and -1 for the second arm; z . C z.
double ArmEffectsState::follow(const ArmComparison& seen) {
    i64 first = effects_[seen.first].slot, second = effects_[seen.second].slot, n = size();
    const double *plus = line_of_slot(first), *minus = line_of_slot(second);
    double* reach = reach_.data();
    for (i64 k = 0; k < n; k++) reach[k] = plus[k] - minus[k];
    for (i64 f = 0; f < dim; f++) {
        const double* from = line(f);
        double z = seen.difference[f];
        if (z == 0.0) continue;
        for (i64 k = 0; k < n; k++) reach[k] += z * from[k];
    }
    double total = reach[dim + first] - reach[dim + second];
    for (i64 f = 0; f < dim; f++) total += seen.difference[f] * reach[f];
    return std::max(total, 0.0);
}

// C -= factor (C z)(C z)'. The factor's root goes into both sides, so that C stays symmetric to the bit.
void ArmEffectsState::shrink(double factor) {
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
        if (part == 0.0) continue;  // an arm that no vote connects with these two
        double least = 0x1p-50 * at[i];
        for (i64 k = 0; k < n; k++) at[k] -= part * reach[k];
        at[i] = std::max(at[i], least);  // where nearly all of a variance goes, rounding may take more than all
    }
}

bool ArmEffectsState::learn(ArmComparison seen, double outcome, double mass) {
    if (seen.first == seen.second) return false;
    std::vector<double> turned;
    if (seen.first > seen.second) {  // a vote told the other way round leaves the same bits
        for (i64 f = 0; f < dim; f++) turned.push_back(0.0 - seen.difference[f]);
        seen = {seen.second, seen.first, turned.data()};
        outcome = 1.0 - outcome;
    }
    AlignedDoubles wanted;
    if (scale.notice(seen.difference, dim, mass, wanted)) adopt_scale(wanted);
    keep({seen.first, seen.second, {seen.difference, seen.difference + dim}, outcome, mass});
    take(seen, outcome, mass);
    return true;
}

// While the first arms may yet turn out to be of another kind.
void ArmEffectsState::keep(EarlyVote vote) {
    if (scale.early() && has_all_early_votes) early_votes.push_back(std::move(vote));
    if (static_cast<i64>(early_votes.size()) > FeatureScale::MAX_EARLY_VOTES) has_all_early_votes = false;
    if (!(scale.early() && has_all_early_votes)) early_votes = {};
}

// A pair out of all proportion to the arms since counts for less.
void ArmEffectsState::take(const ArmComparison& seen, double outcome, double mass) {
    mass *= scale.counts(seen.difference, dim);
    bring_in(seen.first, seen.second);
    bring_in(seen.second, seen.first);
    double square = follow(seen), margin = effects_[seen.first].mean - effects_[seen.second].mean;
    for (i64 f = 0; f < dim; f++) margin += seen.difference[f] * theta[f];
    double step = implicit_step(link, margin, square, mass, mass * outcome, UNTIL_CONVERGED);
    for (i64 f = 0; f < dim; f++) theta[f] += step * reach_[f];
    for (i64 s = 0; s < slots(); s++) effects_[arm_in_[s]].mean += step * reach_[dim + s];
    double curvature = mass * slope(link, margin + step * square);
    shrink(curvature / (1.0 + curvature * square));
}

void ArmEffectsState::expect(const ArmComparison& seen, double mass) {
    if (seen.first == seen.second) return;
    bring_in(seen.first, seen.second);
    bring_in(seen.second, seen.first);
    double square = follow(seen), margin = effects_[seen.first].mean - effects_[seen.second].mean;
    for (i64 f = 0; f < dim; f++) margin += seen.difference[f] * theta[f];
    double curvature = mass * scale.counts(seen.difference, dim) * slope(link, margin);
    shrink(curvature / (1.0 + curvature * square));
}

void ArmEffectsState::restore(std::vector<ArmEffect> effects, std::vector<i64> arms_in_block,
                              std::vector<i64> last_uses, i64 uses, const std::vector<double>& lower_half) {
    effects_ = std::move(effects);
    arm_in_ = std::move(arms_in_block);
    last_ = std::move(last_uses);
    uses_ = uses;
    i64 n = size(), stride = padded(n), at = 0;
    stride_ = stride;
    covariance_ = AlignedDoubles(stride * stride);
    reach_.fit(stride);
    for (i64 i = 0; i < n; i++)
        for (i64 k = 0; k <= i; k++) covariance_[i * stride + k] = covariance_[k * stride + i] = lower_half[at++];
}

}  // namespace duelist
