// Scalar functions behind elementwise operators, as the standard defines them.
#pragma once

#include <cmath>

namespace dfsim::inline graphs {

inline double reciprocal_of(double x) { return 1 / x; }
inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus_of(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
inline double softsign_of(double x) { return x / (1 + std::abs(x)); }
inline double mish_of(double x) { return x * std::tanh(softplus_of(x)); }
inline double hard_swish_of(double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }
inline double exp_of(double x) { return std::exp(x); }
inline double log_of(double x) { return std::log(x); }
inline double sqrt_of(double x) { return std::sqrt(x); }
inline double erf_of(double x) { return std::erf(x); }
inline double sin_of(double x) { return std::sin(x); }
inline double cos_of(double x) { return std::cos(x); }
inline double tan_of(double x) { return std::tan(x); }
inline double asin_of(double x) { return std::asin(x); }
inline double acos_of(double x) { return std::acos(x); }
inline double atan_of(double x) { return std::atan(x); }
inline double sinh_of(double x) { return std::sinh(x); }
inline double cosh_of(double x) { return std::cosh(x); }
inline double tanh_of(double x) { return std::tanh(x); }
inline double asinh_of(double x) { return std::asinh(x); }
inline double acosh_of(double x) { return std::acosh(x); }
inline double atanh_of(double x) { return std::atanh(x); }
inline double gelu_of(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
inline double gelu_tanh_of(double x) {
  constexpr double kScale = 0.7978845608028654;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(kScale * (x + 0.044715 * x * x * x)));
}

}  // namespace dfsim::inline graphs
