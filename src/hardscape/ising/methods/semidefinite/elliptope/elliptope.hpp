// Lower bounds on pair energies of +-1 variables: semidefinite, with triangle inequalities.
//
// Let W be symmetric with a zero diagonal, and l_t >= 0 multipliers of triangle inequalities
// a x_ij + b x_ik + c x_jk >= -1 with a, b, c = +-1 and abc = 1, which products x_ij = s_i s_j of
// +-1 variables satisfy. With M = W less the multipliers at their pairs, and for any y,
//   sum_{i<j} W_ij s_i s_j  >=  m/2 * least eigenvalue of (M + diag y)  -  sum y / 2  -  sum l.
// y and l are sought in single precision: l by ascent, y and the matrix X = V V^T of least energy
// under M by coordinate descent on unit vectors of rank 16 (P.-W. Wang, W.-C. Chang, J. Z. Kolter,
// arXiv:1706.00476). `proven` then checks the inequality for these y and l in double precision:
// docs/theory/spectrum.md.
#pragma once

#include <cstdint>
#include <memory>

#include "ising/methods/semidefinite/dual.hpp"

namespace hardscape::ising {

// Compiled for each instruction-set level.
class Elliptope {
 public:
  Elliptope();
  ~Elliptope();

  // Whether the pair energy of the matrix `w` (m, m), whose entries are integers, is proven to be
  // above `target`. `dual` is where to begin, and then where the search ended. `dogged` if it
  // shall go on for as long as it gains anything.
  bool exceeds(int m, const double* w, double target, Dual& dual, bool dogged,
               const volatile std::uint8_t* stop);

  // Goes on a little, for children to go on from, where nothing can be proven.
  void improve(int m, const double* w, Dual& dual);

  // A proven lower bound on the pair energy after so many rounds; minus infinity if none is found.
  double bound(int m, const double* w, int rounds, Dual& dual);

 private:
  class Descent;
  std::unique_ptr<Descent> descent_;
};

}  // namespace hardscape::ising
