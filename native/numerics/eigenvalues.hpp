// Eigenvalues of small symmetric matrices.
#pragma once

#include <vector>

#include "numerics/elementary.hpp"

namespace duelist {

// The largest eigenvalue of a symmetric matrix (dim x dim, row-major, overwritten), by cyclic Jacobi rotations.
inline double largest_eigenvalue(double* a, i64 dim) {
    constexpr int MAX_SWEEPS = 60;
    auto at = [&](i64 i, i64 j) -> double& { return a[i * dim + j]; };
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        double off = 0.0, diagonal = 0.0;
        for (i64 i = 0; i < dim; i++) {
            diagonal += at(i, i) * at(i, i);
            for (i64 j = i + 1; j < dim; j++) off += at(i, j) * at(i, j);
        }
        if (!(off > 1e-30 * diagonal)) break;  // the negation also ends with NaN
        for (i64 p = 0; p + 1 < dim; p++)
            for (i64 q = p + 1; q < dim; q++) {
                if (at(p, q) == 0.0) continue;
                double tau = (at(q, q) - at(p, p)) / (2.0 * at(p, q));
                double t = (tau >= 0.0 ? 1.0 : -1.0) / (std::fabs(tau) + std::sqrt(1.0 + tau * tau));
                double c = 1.0 / std::sqrt(1.0 + t * t), s = t * c;
                for (i64 k = 0; k < dim; k++) {
                    double up = at(k, p), uq = at(k, q);
                    at(k, p) = c * up - s * uq;
                    at(k, q) = s * up + c * uq;
                }
                for (i64 k = 0; k < dim; k++) {
                    double up = at(p, k), uq = at(q, k);
                    at(p, k) = c * up - s * uq;
                    at(q, k) = s * up + c * uq;
                }
            }
    }
    double largest = at(0, 0);
    for (i64 i = 1; i < dim; i++) largest = std::max(largest, at(i, i));
    return largest;
}

}  // namespace duelist
