#include "search/arm_effects_view.hpp"

#include <algorithm>
#include <numeric>

namespace duelist {

ArmEffectsView::ArmEffectsView(const ArmEffectsState& state, const ArmTable& table) : state_(state), table_(table) {
    i64 dim = state.dim;
    slot_.resize(static_cast<std::size_t>(table.n));
    utility_.fit(padded(table.n));
    variance_.fit(padded(table.n));
    effect_variance_.fit(padded(table.n));
    combined_.fit(padded(state.size()));
    features_.fit(2 * table.n * dim);
    difference_.fit(padded(dim));
    transformed_difference_.fit(padded(dim));
    center();
    for (i64 a = 0; a < table.n; a++) {
        i64 arm = table.ids[a];
        slot_[a] = state.slot_of(arm);
        utility_[a] = state.mean_of(arm) + kernels->dot(centered(a), state.theta.data(), dim);
        effect_variance_[a] = state.variance_of(arm);
        transform(a);
        variance_[a] = effect_variance_[a] + kernels->dot(centered(a), transformed(a), dim);
    }
}

void ArmEffectsView::transform(i64 a) {
    const double* own = slot_[a] < 0 ? nullptr : state_.covariance_row_of_slot(slot_[a]);
    for (i64 f = 0; f < state_.dim; f++)
        transformed(a)[f] =
            kernels->dot(centered(a), state_.covariance_row(f), state_.dim) + (own ? 2.0 * own[f] : 0.0);
}

// Center on the lower median of each feature, which does not depend on the order of the arms.
void ArmEffectsView::center() {
    i64 dim = state_.dim, n = table_.n;
    center_.fit(dim);
    std::vector<double> values(static_cast<std::size_t>(n));
    for (i64 k = 0; k < dim; k++) {
        for (i64 a = 0; a < n; a++) values[static_cast<std::size_t>(a)] = table_.arm(a)[k];
        std::nth_element(values.begin(), values.begin() + (n - 1) / 2, values.end());
        center_[k] = values[static_cast<std::size_t>((n - 1) / 2)];
        for (i64 a = 0; a < n; a++) centered(a)[k] = table_.arm(a)[k] - center_[k];
    }
}

void ArmEffectsView::covariances(i64 arm, const ArmSubset& others, double* out) {
    i64 dim = state_.dim, size = state_.size();
    const double *x = centered(arm), *line = nullptr;
    if (slot_[arm] >= 0) line = state_.covariance_row_of_slot(slot_[arm]);
    if (dim > 0) {
        double* combined = combined_.data();
        if (line)
            std::copy(line, line + size, combined);
        else
            std::fill(combined, combined + size, 0.0);
        for (i64 f = 0; f < dim; f++) {
            const double* from = state_.covariance_row(f);
            for (i64 k = 0; k < size; k++) combined[k] += x[f] * from[k];
        }
        line = combined;
    }
    for (i64 k = 0; k < others.n; k++) {
        i64 other = others.arm(k);
        if (other == arm) {
            out[k] = variance_[arm];
            continue;
        }
        double total = line && slot_[other] >= 0 ? line[dim + slot_[other]] : 0.0;
        if (dim > 0) total += kernels->dot(centered(other), line, dim);
        out[k] = total;
    }
}

void ArmEffectsView::squared_widths(i64 arm, const ArmSubset& others, double* out) {
    for (i64 k = 0; k < others.n; k++) {
        i64 other = others.arm(k);
        out[k] = other == arm ? 0.0 : squared_width(arm, other);
    }
}

// z'Cz + 2 z'(c_a - c_b) with z = x_a - x_b, plus the variance of the difference of the arm effects. The effects of
// arms outside the block are independent of the rest, so their variances are a lower bound that rounding must not
// undercut.
double ArmEffectsView::squared_width(i64 a, i64 b) {
    i64 dim = state_.dim;
    const double *x = table_.arm(a), *y = table_.arm(b), *p = transformed(a), *q = transformed(b);
    double *z = difference_.data(), *transformed_z = transformed_difference_.data();
    for (i64 f = 0; f < dim; f++) z[f] = x[f] - y[f];
    for (i64 f = 0; f < dim; f++) transformed_z[f] = p[f] - q[f];
    double own = effect_variance_[a] + effect_variance_[b];
    if (slot_[a] >= 0 && slot_[b] >= 0) own -= 2.0 * state_.covariance_row_of_slot(slot_[a])[dim + slot_[b]];
    double least = (slot_[a] < 0 ? effect_variance_[a] : 0.0) + (slot_[b] < 0 ? effect_variance_[b] : 0.0);
    return std::max(own + kernels->dot(z, transformed_z, dim), least);
}

std::vector<i64> ArmEffectsView::largest(const double* scores, i64 n, i64 count) {
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    if (count >= n) return order;
    std::vector<double> sorted(scores, scores + n);
    for (double& score : sorted)
        if (!(score == score)) score = -INF;  // NaN has no place in an order
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
