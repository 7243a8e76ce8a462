// The inner loops, compiled once per vector width. The version is chosen when the module is loaded.
//
// Every kernel adds in a fixed order (eight lanes, joined at the end) and the compiler may not contract operations, so
// all versions give the same results bit for bit. Kernels are plain functions of pointers and sizes. They use no
// classes and no library templates, because the linker could merge such a template's code into a version that the
// processor cannot run.
//
// Arms are the columns of v: dim rows with a stride that is a multiple of 8, so that the width of a pair is the
// distance of its columns. Every row has room for 8 numbers past its end, because kernels read and write whole vectors
// there.
#pragma once

#include "numerics/elementary.hpp"

namespace duelist {

inline constexpr i64 LANES = 8;
inline i64 padded(i64 n) { return (n + LANES - 1) / LANES * LANES; }

// The ridge of each feature: `common` times the squared scale of the feature, or `common` where `scale` is null.
struct Ridge {
    double common;
    const double* scale = nullptr;
};

struct FoundPair {
    i64 first, second;
    double value;
};

// Signs of the products of rows with columns, each `width` floats long, in single precision (see `sign_filter.hpp`).
//
// Columns are stored in tiles of TILE, feature by feature. mask[i * chunks + c] says whether any product of row i with
// the CHUNK columns of chunk c has its sign bit clear, or, if `negative`, set.
struct SignBlock {
    const float* left;
    i64 rows;
    const float* right;
    i64 columns;
    i64 width;
    bool negative;
    unsigned char* mask;
};
inline constexpr i64 TILE = 16;
inline constexpr i64 CHUNK = 64;

struct Kernels {
    const char* name;

    double (*dot)(const double* a, const double* b, i64 n);
    bool (*same_bits)(const double* a, const double* b, i64 n);

    // -- triangular factors: R with R'R = Sigma, upper, row-major
    void (*cholesky_update)(double* factor, i64 dim, const double* z, double weight, double* rest);
    void (*cholesky_update_both)(double* factor, double weight, double* other, double other_weight, i64 dim,
                                 const double* z, double* rest, double* other_rest);
    bool (*cholesky)(double* matrix, i64 dim);
    void (*solve_lower)(const double* factor, i64 dim, double* b);
    void (*solve_upper)(const double* factor, i64 dim, double* b);
    void (*multiply)(const double* factor, i64 dim, const double* x, double* out);

    // -- arms: utilities u = x . theta (theta may be null) and whitened columns v = R'^-1 x (v may be null)
    void (*whiten)(const double* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor,
                   double* u, double* v, i64 stride);
    void (*whiten_single)(const float* arms, const i64* chosen, i64 n, i64 dim, const double* theta,
                          const double* factor, double* u, double* v, i64 stride);

    // -- pairs
    i64 (*argmax)(const double* values, i64 n);
    double (*largest_magnitude)(const double* values, i64 n);
    void (*squared_widths)(const double* v, i64 stride, i64 dim, i64 arm, i64 start, i64 stop, double* out);
    void (*gap_products)(const double* v, const double* y, i64 stride, i64 dim, i64 arm, i64 start, i64 stop,
                         double* out);
    void (*laplacian_product)(const double* v, i64 stride, i64 dim, i64 arm, i64 start, i64 stop, const double* weights,
                              double* out);
    void (*multiply_symmetric)(const double* matrix, i64 dim, const double* v, i64 stride, i64 n, double* out);
    void (*squared_distances)(const double* v, i64 stride, i64 dim, const double* center, i64 n, double* out);
    void (*add_utilities)(double own, const double* u, double radius, double* squares, i64 n);
    // own + u_j + w_j sqrt(stretch (4 mu'(D))^(1/5) (L - log(1 + L))) for the logistic link (see `local_bonus.hpp`)
    void (*local_pair_values)(double own, const double* u, const double* squares, double stretch, double horizon,
                              double* out, i64 n);
    FoundPair (*best_of_all_pairs)(const double* u, const double* v, i64 n, i64 stride, i64 dim, double radius,
                                   double* line);
    FoundPair (*widest_of_all_pairs)(const double* v, i64 n, i64 stride, i64 dim, double* line);
    i64 (*best_pair_candidates)(const double* u, const double* v, i64 n, i64 stride, i64 dim, double radius,
                                double* reach, double* line, i64* kept);
    void (*pick_columns)(const double* v, i64 stride, i64 dim, const i64* kept, i64 count, double* out, i64 out_stride);
    void (*signs)(const SignBlock& block);

    // -- rows of data: z has one feature per row, `stride` apart
    void (*margins)(const double* z, i64 stride, i64 dim, const double* theta, i64 n, double* out);
    void (*logistic_model)(const double* mass, const double* wins, const double* margins, i64 n, double* residual,
                           double* slopes, double* second_order);
    void (*model_residual)(const double* residual, const double* slopes, const double* second_order, double* moves,
                           i64 n);
    void (*negative_gradient)(const double* z, i64 stride, i64 dim, const double* residual, i64 n, Ridge ridge,
                              const double* theta, double* out);
    void (*fill_curvature)(const double* z, i64 stride, i64 dim, const double* slopes, i64 n, Ridge ridge,
                           double* weighted, double* curvature);
};

// The versions that this machine can run, widest first.
const Kernels* const* runnable_kernels(i64* count);

// The version in use: the widest, or the one that DUELIST_VECTORS names.
extern const Kernels* kernels;

}  // namespace duelist
