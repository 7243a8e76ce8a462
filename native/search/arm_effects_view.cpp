#include "search/arm_effects_view.hpp"

#include <algorithm>
#include <numeric>

namespace duelist {

ArmEffectsView::ArmEffectsView(const ArmEffectsState& known, const ArmTable& table) : known_(known), table_(table) {
    i64 dim = known.dim;
    slot_.resize(static_cast<std::size_t>(table.n));
    utility_.fit(padded(table.n));
    variance_.fit(padded(table.n));
    effect_variance_.fit(padded(table.n));
    lifted_.fit(padded(known.size()));
    lines_.fit(2 * table.n * dim);
    apart_.fit(padded(dim));
    pulled_apart_.fit(padded(dim));
    leave_the_middle();
    for (i64 a = 0; a < table.n; a++) {
        i64 arm = table.ids[a];
        slot_[a] = known.slot_of(arm);
        utility_[a] = known.mean_of(arm) + kernels->dot(off(a), known.theta.data(), dim);
        effect_variance_[a] = known.variance_of(arm);
        pull(a);
        variance_[a] = effect_variance_[a] + kernels->dot(off(a), pulled(a), dim);
    }
}

void ArmEffectsView::pull(i64 a) {
    const double* own = slot_[a] < 0 ? nullptr : known_.line_of_slot(slot_[a]);
    for (i64 f = 0; f < known_.dim; f++)
        pulled(a)[f] = kernels->dot(off(a), known_.line(f), known_.dim) + (own ? 2.0 * own[f] : 0.0);
}

// The lower middle value of each feature, which does not depend on the order of the arms, and every arm's distance from it.
void ArmEffectsView::leave_the_middle() {
    i64 dim = known_.dim, n = table_.n;
    middle_.fit(dim);
    std::vector<double> values(static_cast<std::size_t>(n));
    for (i64 k = 0; k < dim; k++) {
        for (i64 a = 0; a < n; a++) values[static_cast<std::size_t>(a)] = table_.arm(a)[k];
        std::nth_element(values.begin(), values.begin() + (n - 1) / 2, values.end());
        middle_[k] = values[static_cast<std::size_t>((n - 1) / 2)];
        for (i64 a = 0; a < n; a++) off(a)[k] = table_.arm(a)[k] - middle_[k];
    }
}

void ArmEffectsView::covariances(i64 arm, const i64* listed, i64 count, double* out) {
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

void ArmEffectsView::squares(i64 arm, const i64* listed, i64 count, double* out) {
    for (i64 k = 0; k < count; k++) {
        i64 other = listed ? listed[k] : k;
        out[k] = other == arm ? 0.0 : square(arm, other);
    }
}

// z'Cz + 2 z'(c_a - c_b), z = x_a - x_b, and the variance of the difference of the own terms. What the own terms of arms outside of the block have in
// it is independent of the rest, and no rounding takes it away.
double ArmEffectsView::square(i64 a, i64 b) {
    i64 dim = known_.dim;
    const double *x = table_.arm(a), *y = table_.arm(b), *p = pulled(a), *q = pulled(b);
    double *z = apart_.data(), *pull = pulled_apart_.data();
    for (i64 f = 0; f < dim; f++) z[f] = x[f] - y[f];
    for (i64 f = 0; f < dim; f++) pull[f] = p[f] - q[f];
    double own = effect_variance_[a] + effect_variance_[b];
    if (slot_[a] >= 0 && slot_[b] >= 0) own -= 2.0 * known_.line_of_slot(slot_[a])[dim + slot_[b]];
    double least = (slot_[a] < 0 ? effect_variance_[a] : 0.0) + (slot_[b] < 0 ? effect_variance_[b] : 0.0);
    return std::max(own + kernels->dot(z, pull, dim), least);
}

std::vector<i64> ArmEffectsView::largest(const double* scores, i64 n, i64 count) {
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    if (count >= n) return order;
    std::vector<double> sorted(scores, scores + n);
    for (double& score : sorted)
        if (!(score == score)) score = -INF;  // what is not a number has no place in an order
    std::nth_element(order.begin(), order.begin() + count, order.end(),
                     [&](i64 a, i64 b) { return sorted[a] != sorted[b] ? sorted[a] > sorted[b] : a < b; });
    order.resize(static_cast<std::size_t>(count));
    std::sort(order.begin(), order.end());
    return order;
}

i64 ArmEffectsView::leader(const PairConstraints& constraints) const {
    i64 n = table_.n, best = -1;
    for (i64 a = 0; a < n; a++) {
        if (best >= 0 && !(utility_[a] > utility_[best])) continue;
        if (constraints.allows(a, a) || table_.has_partner(a)) best = a;
    }
    return best;
}

}  // namespace duelist
