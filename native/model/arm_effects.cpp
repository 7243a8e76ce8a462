#include "model/arm_effects.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/incremental_fit.hpp"

namespace duelist {

namespace {

constexpr i64 FIRST_SLOTS = 16;

}  // namespace

OwnTerms::OwnTerms(Link link, std::vector<double> variance, double own, i64 block)
    : dim(static_cast<i64>(variance.size())), link(link), own_variance(own), theta(variance.size()),
      theta_variance(std::move(variance)), sizes(dim), block_(block) {
    grow(std::min(FIRST_SLOTS, block_));
    for (i64 k = 0; k < dim; k++) covariance_[k * stride_ + k] = theta_variance[k];
}

// -- sizes of features -----------------------------------------------------------------------

void OwnTerms::meet(const double* arms, i64 n) {
    if (uses_ == 0) name_sizes(arms, n);
}

// Sizes for features that have none; before the first vote their number says how many parts the linear part has.
void OwnTerms::name_sizes(const double* arms, i64 n) {
    Numbers wanted;
    if (!sizes.any_unknown() || !sizes.meet(arms, n, dim, wanted)) return;
    if (uses_ == 0) parts = dim - std::count(sizes.unknown.begin(), sizes.unknown.end(), 1);
    follow_sizes(wanted);
}

std::optional<OwnTerms> OwnTerms::seen_by(const double* arms, i64 n) const {
    std::optional<OwnTerms> seen;
    if (sizes.any_unknown()) {
        seen = *this;
        seen->name_sizes(arms, n);
    }
    Seen other = (seen ? seen->sizes : sizes).see(arms, n, dim);
    if (!other.unlike) return seen;
    if (!seen) seen = *this;
    seen->sizes.believe(other, dim);
    seen->follow_sizes(other.squared);
    return seen;
}

double OwnTerms::prior_of(i64 k) const {
    if (sizes.unknown[static_cast<std::size_t>(k)]) return 0.0;
    return std::min(own_variance / static_cast<double>(parts) / sizes.squared[k], std::numeric_limits<double>::max());
}

// Nothing is known but how large features are.
void OwnTerms::start_over() {
    std::fill(theta.begin(), theta.end(), 0.0);
    terms_.clear();
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
void OwnTerms::follow_sizes(const Numbers& wanted) {
    sizes.squared = wanted;
    sizes.found_kind = false;
    if (uses_ != 2 * static_cast<i64>(first_votes.size())) {
        for (i64 k = 0; k < dim; k++) change_prior(k, prior_of(k));
        return;
    }
    start_over();
    for (const Vote& vote : first_votes) take({vote.first, vote.second, vote.difference.data()}, vote.outcome, vote.mass);
}

// The precision of theta_k has another prior in it: C^-1 + d e e' has the covariance C - d / (1 + d C_kk) C e e' C, and the mean that belongs to it.
void OwnTerms::change_prior(i64 k, double variance) {
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
        for (i64 s = 0; s < slots(); s++) terms_[arm_in_[s]].mean -= step * reach[dim + s];
        double root = std::sqrt(std::fabs(part));
        for (i64 j = 0; j < size(); j++) reach[j] *= root;
        subtract_square(part < 0.0 ? -1.0 : 1.0);
    }
    before = variance;
}

// -- votes -----------------------------------------------------------------------------------

double OwnTerms::variance_of(i64 arm) const {
    if (!known(arm)) return own_variance;
    const Term& term = terms_[arm];
    return term.slot < 0 ? term.variance : line_of_slot(term.slot)[dim + term.slot];
}

// Room for so many arms in the block.
void OwnTerms::grow(i64 slots) {
    i64 stride = padded(dim + slots);
    if (stride <= stride_) return;
    Numbers larger(stride * stride);
    if (stride_ > 0)
        for (i64 k = 0; k < size(); k++) std::copy(line(k), line(k) + size(), larger.data() + k * stride);
    covariance_ = std::move(larger);
    stride_ = stride;
    reach_.fit(stride);
}

// The slot of an arm that comes into the block: a new one, or that of the arm that was voted on the longest ago, which goes
// on with the variance it has and is independent of the others from now on.
i64 OwnTerms::place_for(i64 arm, i64 partner) {
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
    Term& leaving = terms_[arm_in_[slot]];
    leaving.variance = line_of_slot(slot)[dim + slot];
    leaving.slot = -1;
    arm_in_[slot] = arm;
    return slot;
}

void OwnTerms::bring_in(i64 arm, i64 partner) {
    if (!known(arm)) terms_.resize(static_cast<std::size_t>(arm) + 1, {0.0, own_variance, -1});
    if (terms_[arm].slot < 0) {
        i64 slot = place_for(arm, partner), at = dim + slot;
        for (i64 k = 0; k < size(); k++) covariance_[at * stride_ + k] = covariance_[k * stride_ + at] = 0.0;
        covariance_[at * stride_ + at] = terms_[arm].variance;
        terms_[arm].slot = slot;
    }
    last_[terms_[arm].slot] = ++uses_;
}

// reach_ = C z, where z has the difference of the features, 1 for the first and -1 for the second arm; z . C z.
double OwnTerms::follow(const Compared& seen) {
    i64 first = terms_[seen.first].slot, second = terms_[seen.second].slot, n = size();
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
void OwnTerms::shrink(double factor) {
    double root = std::sqrt(factor);
    for (i64 k = 0; k < size(); k++) reach_[k] *= root;
    subtract_square(1.0);
}

// C -= sign reach reach'.
void OwnTerms::subtract_square(double sign) {
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

bool OwnTerms::learn(Compared seen, double outcome, double mass) {
    if (seen.first == seen.second) return false;
    std::vector<double> turned;
    if (seen.first > seen.second) {  // a vote told the other way round leaves the same bits
        for (i64 f = 0; f < dim; f++) turned.push_back(0.0 - seen.difference[f]);
        seen = {seen.second, seen.first, turned.data()};
        outcome = 1.0 - outcome;
    }
    Numbers wanted;
    if (sizes.notice(seen.difference, dim, mass, wanted)) follow_sizes(wanted);
    keep({seen.first, seen.second, {seen.difference, seen.difference + dim}, outcome, mass});
    take(seen, outcome, mass);
    return true;
}

// While the first arms may yet turn out to be of another kind.
void OwnTerms::keep(Vote vote) {
    if (sizes.early() && has_first_votes) first_votes.push_back(std::move(vote));
    if (static_cast<i64>(first_votes.size()) > Sizes::MOST_FIRST_VOTES) has_first_votes = false;
    if (!(sizes.early() && has_first_votes)) first_votes = {};
}

// A pair out of all proportion to the arms since counts for less.
void OwnTerms::take(const Compared& seen, double outcome, double mass) {
    mass *= sizes.counts(seen.difference, dim);
    bring_in(seen.first, seen.second);
    bring_in(seen.second, seen.first);
    double square = follow(seen), margin = terms_[seen.first].mean - terms_[seen.second].mean;
    for (i64 f = 0; f < dim; f++) margin += seen.difference[f] * theta[f];
    double step = implicit_step(link, margin, square, mass, mass * outcome, TO_ROUNDING);
    for (i64 f = 0; f < dim; f++) theta[f] += step * reach_[f];
    for (i64 s = 0; s < slots(); s++) terms_[arm_in_[s]].mean += step * reach_[dim + s];
    double curvature = mass * slope(link, margin + step * square);
    shrink(curvature / (1.0 + curvature * square));
}

void OwnTerms::expect(const Compared& seen, double mass) {
    if (seen.first == seen.second) return;
    bring_in(seen.first, seen.second);
    bring_in(seen.second, seen.first);
    double square = follow(seen), margin = terms_[seen.first].mean - terms_[seen.second].mean;
    for (i64 f = 0; f < dim; f++) margin += seen.difference[f] * theta[f];
    double curvature = mass * sizes.counts(seen.difference, dim) * slope(link, margin);
    shrink(curvature / (1.0 + curvature * square));
}

void OwnTerms::restore(std::vector<Term> terms, std::vector<i64> arms_in_block, std::vector<i64> last_uses, i64 uses,
                       const std::vector<double>& lower_half) {
    terms_ = std::move(terms);
    arm_in_ = std::move(arms_in_block);
    last_ = std::move(last_uses);
    uses_ = uses;
    i64 n = size(), stride = padded(n), at = 0;
    stride_ = stride;
    covariance_ = Numbers(stride * stride);
    reach_.fit(stride);
    for (i64 i = 0; i < n; i++)
        for (i64 k = 0; k <= i; k++) covariance_[i * stride + k] = covariance_[k * stride + i] = lower_half[at++];
}

// -- looking -------------------------------------------------------------------------------

OwnView::OwnView(const OwnTerms& known, const FreeTable& table) : known_(known), table_(table) {
    i64 dim = known.dim;
    slot_.resize(static_cast<std::size_t>(table.n));
    utility_.fit(padded(table.n));
    variance_.fit(padded(table.n));
    own_variance_.fit(padded(table.n));
    lifted_.fit(padded(known.size()));
    lines_.fit(2 * table.n * dim);
    apart_.fit(padded(dim));
    pulled_apart_.fit(padded(dim));
    leave_the_middle();
    for (i64 a = 0; a < table.n; a++) {
        i64 arm = table.numbers[a];
        slot_[a] = known.slot_of(arm);
        utility_[a] = known.mean_of(arm) + kernels->dot(off(a), known.theta.data(), dim);
        own_variance_[a] = known.variance_of(arm);
        pull(a);
        variance_[a] = own_variance_[a] + kernels->dot(off(a), pulled(a), dim);
    }
}

void OwnView::pull(i64 a) {
    const double* own = slot_[a] < 0 ? nullptr : known_.line_of_slot(slot_[a]);
    for (i64 f = 0; f < known_.dim; f++) pulled(a)[f] = kernels->dot(off(a), known_.line(f), known_.dim) + (own ? 2.0 * own[f] : 0.0);
}

// The lower middle value of each feature, which does not depend on the order of the arms, and every arm's distance from it.
void OwnView::leave_the_middle() {
    i64 dim = known_.dim, n = table_.n;
    middle_.fit(dim);
    std::vector<double> values(static_cast<std::size_t>(n));
    for (i64 k = 0; k < dim; k++) {
        for (i64 a = 0; a < n; a++) values[static_cast<std::size_t>(a)] = table_.features_of(a)[k];
        std::nth_element(values.begin(), values.begin() + (n - 1) / 2, values.end());
        middle_[k] = values[static_cast<std::size_t>((n - 1) / 2)];
        for (i64 a = 0; a < n; a++) off(a)[k] = table_.features_of(a)[k] - middle_[k];
    }
}

void OwnView::covariances(i64 arm, const i64* listed, i64 count, double* out) {
    i64 dim = known_.dim, size = known_.size();
    const double *x = off(arm), *line = nullptr;
    if (slot_[arm] >= 0) line = known_.line_of_slot(slot_[arm]);
    if (dim > 0) {
        double* lifted = lifted_.data();
        if (line)
            std::copy(line, line + size, lifted);
        else
            std::fill(lifted, lifted + size, 0.0);
        for (i64 f = 0; f < dim; f++) {
            const double* from = known_.line(f);
            for (i64 k = 0; k < size; k++) lifted[k] += x[f] * from[k];
        }
        line = lifted;
    }
    for (i64 k = 0; k < count; k++) {
        i64 other = listed ? listed[k] : k;
        if (other == arm) {
            out[k] = variance_[arm];
            continue;
        }
        double total = line && slot_[other] >= 0 ? line[dim + slot_[other]] : 0.0;
        if (dim > 0) total += kernels->dot(off(other), line, dim);
        out[k] = total;
    }
}

void OwnView::squares(i64 arm, const i64* listed, i64 count, double* out) {
    for (i64 k = 0; k < count; k++) {
        i64 other = listed ? listed[k] : k;
        out[k] = other == arm ? 0.0 : square(arm, other);
    }
}

// z'Cz + 2 z'(c_a - c_b), z = x_a - x_b, and the variance of the difference of the own terms. What the own terms of arms outside of the block have in
// it is independent of the rest, and no rounding takes it away.
double OwnView::square(i64 a, i64 b) {
    i64 dim = known_.dim;
    const double *x = table_.features_of(a), *y = table_.features_of(b), *p = pulled(a), *q = pulled(b);
    double *z = apart_.data(), *pull = pulled_apart_.data();
    for (i64 f = 0; f < dim; f++) z[f] = x[f] - y[f];
    for (i64 f = 0; f < dim; f++) pull[f] = p[f] - q[f];
    double own = own_variance_[a] + own_variance_[b];
    if (slot_[a] >= 0 && slot_[b] >= 0) own -= 2.0 * known_.line_of_slot(slot_[a])[dim + slot_[b]];
    double least = (slot_[a] < 0 ? own_variance_[a] : 0.0) + (slot_[b] < 0 ? own_variance_[b] : 0.0);
    return std::max(own + kernels->dot(z, pull, dim), least);
}

std::vector<i64> OwnView::largest(const double* scores, i64 n, i64 count) {
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    if (count >= n) return order;
    std::vector<double> sorted(scores, scores + n);
    for (double& score : sorted)
        if (!(score == score)) score = -INF;  // what is not a number has no place in an order
    std::nth_element(order.begin(), order.begin() + count, order.end(), [&](i64 a, i64 b) {
        return sorted[a] != sorted[b] ? sorted[a] > sorted[b] : a < b;
    });
    order.resize(static_cast<std::size_t>(count));
    std::sort(order.begin(), order.end());
    return order;
}

i64 OwnView::leader(const Limits& limits) const {
    i64 n = table_.n, best = -1;
    for (i64 a = 0; a < n; a++) {
        if (best >= 0 && !(utility_[a] > utility_[best])) continue;
        if (limits.allows(a, a) || table_.positions().has_other_partner(a)) best = a;
    }
    return best;
}

}  // namespace duelist
