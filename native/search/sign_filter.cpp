#include "search/sign_filter.hpp"

#include <limits>
#include <utility>

namespace duelist {

SortedArms::SortedArms(const ArmView& view, const std::vector<i64>& arms, std::vector<double> keys)
    : arm(arms), key(std::move(keys)), dim(view.dim), stride(padded(static_cast<i64>(arms.size()))) {
    u.fit(stride);
    v.fit(dim * stride);
    if (view.u)
        for (i64 k = 0; k < n(); k++) u[k] = view.u[arm[k]];
    kernels->pick_columns(view.v, view.stride, dim, arm.data(), n(), v.data(), stride);
}

SignFilter::SignFilter(i64 n, i64 features, bool negative)
    : n_(n), features_(features), width_(features + 3), negative_(negative), squares_(static_cast<std::size_t>(n)) {
    right_.fit((n + TILE - 1) / TILE * TILE * width_ + TILE * width_);
    left_.fit(BLOCK_ROWS * width_);
    mask_.resize(static_cast<std::size_t>(BLOCK_ROWS * chunks(BLOCK_COLUMNS + TILE)));
    for (i64 past = n; past % TILE != 0; past++) at(past, features_ + 1) = negative ? 1e30f : -1e30f;
}

void SignFilter::pack_features(const SortedArms& sorted, const double* center, double radius, double scale) {
    constexpr double LARGEST = std::numeric_limits<double>::max();
    double times = std::min(radius / scale, LARGEST);  // if the scale is that small, so are all distances
    std::fill(squares_.begin(), squares_.end(), 0.0);
    auto pack = [&](i64 start, i64 count) {
        double* squares = squares_.data() + start;
        for (i64 k = 0; k < features_; k++) {
            const double* from = sorted.v.data() + k * sorted.stride + start;
            float* to = &at(start, k);
            for (i64 i = 0; i < count; i++) {
                double x = (from[i] - center[k]) * times;
                to[i] = static_cast<float>(x);
                squares[i] += x * x;
            }
        }
        for (i64 i = 0; i < count; i++) at(start + i, features_ + 2) = 1.0f;
    };
    i64 whole = n_ / TILE * TILE;
    for (i64 start = 0; start < whole; start += TILE) pack(start, TILE);
    if (whole < n_) pack(whole, n_ - whole);
}

const unsigned char* SignFilter::signs(i64 start, i64 rows, i64 column, i64 columns, double times) {
    if (filled_start_ != start || filled_rows_ != rows) {
        for (i64 i = 0; i < rows; i++) {
            float* to = left_.data() + i * width_;
            for (i64 k = 0; k < features_; k++) to[k] = -2.0f * at(start + i, k);
            to[features_] = static_cast<float>(times) * at(start + i, features_);
            to[features_ + 1] = 1.0f;
            to[features_ + 2] = at(start + i, features_ + 1);
        }
        filled_start_ = start;
        filled_rows_ = rows;
    }
    kernels->signs({left_.data(), rows, right_.data() + column * width_, columns, width_, negative_, mask_.data()});
    return mask_.data();
}

double rounding_noise(i64 dim, double largest_u, double radius, double largest_distance) {
    return (2.0 * static_cast<double>(dim) + 32.0) * 0x1.0p-53 * 2.0 * (largest_u + radius * largest_distance) +
           radius * 1e-150;
}

// Sample eight neighbors at a time, because they share a cache line in each row.
std::vector<double> sample_mean(const ArmView& view) {
    constexpr i64 SAMPLE = 4096;
    i64 step = (view.n + SAMPLE - 1) / SAMPLE * LANES;
    std::vector<double> mean(static_cast<std::size_t>(view.dim));
    for (i64 k = 0; k < view.dim; k++) {
        const double* row = view.v + k * view.stride;
        double total = 0.0, count = 0.0;
        for (i64 start = 0; start < view.n; start += step)
            for (i64 i = start; i < std::min(start + LANES, view.n); i++) {
                total += row[i] - row[0];
                count += 1.0;
            }
        mean[static_cast<std::size_t>(k)] = row[0] + total / count;
    }
    return mean;
}

std::vector<i64> descending(const std::vector<double>& values) {
    std::vector<std::pair<double, i64>> placed(values.size());
    for (std::size_t k = 0; k < values.size(); k++) placed[k] = {values[k], static_cast<i64>(k)};
    std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<i64> order(values.size());
    std::transform(placed.begin(), placed.end(), order.begin(), [](const auto& place) { return place.second; });
    return order;
}

}  // namespace duelist
