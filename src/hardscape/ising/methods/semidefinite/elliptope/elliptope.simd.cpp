// The search for multipliers and y in single precision.
#include "ising/methods/semidefinite/elliptope/elliptope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "ising/methods/patience.hpp"
#include "ising/methods/semidefinite/dual.hpp"
#include "ising/methods/semidefinite/elliptope/proof.hpp"
#include "ising/methods/semidefinite/elliptope/sixteen.hpp"

namespace hardscape::ising {

class Elliptope::Descent {
 public:
  bool exceeds(int m, const double* w, double target, Dual& dual, bool dogged,
               const volatile std::uint8_t* stop) {
    begin(m, w, dual);
    sweep(triangles_.empty() ? 60 : 10);
    double energy = estimate();
    if (proven_soon(energy, target)) return leave(dual, true);
    const float decay = 0.95f;
    float step = 1;
    double best = energy;
    int stalled = 0;
    const int rounds = dogged ? 100 : 80;
    for (int round = 0; round < rounds && *stop != kStop; ++round) {
      const double before = energy;
      energy = ascended(round, dogged ? 10 : 20, step);
      if (proven_soon(energy, target)) return leave(dual, true);
      if (energy < best + 1e-3 * std::abs(target - best)) {
        ++stalled;
        step *= decay;
      } else {
        stalled = 0;
      }
      best = std::max(best, energy);
      if (stalled > (dogged ? 12 : 6)) break;
      // Three times the last gain are more than what rounds to come will gain.
      if (!dogged && round >= 2 && target - energy > 3 * (energy - before)) break;
    }
    return leave(dual, false);
  }

  void improve(int m, const double* w, Dual& dual) {
    begin(m, w, dual);
    sweep(triangles_.empty() ? 60 : 10);
    for (int round = 0; round < 2; ++round) ascended(round, 20, 1);
    leave(dual, false);
  }

  double bound(int m, const double* w, int rounds, Dual& dual) {
    begin(m, w, dual);
    sweep(triangles_.empty() ? 60 : 10);
    for (int round = 0; round < rounds; ++round) ascended(round, 10, 1);
    build();
    sweep(100);
    const double energy = estimate();
    double highest = -std::numeric_limits<double>::infinity(), open = energy;
    for (double share = 0x1p-14; share < 8 && !(highest > -0x1p60); share *= 2) {
      const double target = energy - share * std::abs(energy);
      (proven(target) ? highest : open) = target;
    }
    for (int halving = 0; halving < 3 && highest > -0x1p60; ++halving) {
      const double target = (highest + open) / 2;
      (proven(target) ? highest : open) = target;
    }
    leave(dual, false);
    return highest;
  }

 private:
  using Part = Sixteen::Part;
  static constexpr int kLanes = Sixteen::kLanes;

  // Multipliers of the triangles that are at work, by matrix entries.
  struct Active {
    std::vector<std::int32_t> ij, ik, jk;
    std::vector<float> a, b, c, pace, sum, value, change;

    void resize(std::size_t n) {
      for (auto* x : {&ij, &ik, &jk}) x->resize(n);
      for (auto* x : {&a, &b, &c, &pace, &sum, &value, &change}) x->resize(n);
    }
  };

  struct Violated {
    float by;
    Triangle triangle;
  };

  void begin(int m, const double* w, Dual& dual) {
    m_ = m;
    width_ = (m + 15) / 16 * 16;
    w_ = w;
    const std::size_t size = static_cast<std::size_t>(m) * (width_ / kLanes);
    matrix_.assign(size, Part{});
    gram_.assign(size, Part{});
    across_.assign(static_cast<std::size_t>(16) * (width_ / kLanes), Part{});
    length_.assign(m, 0);
    inverse_.resize(m);
    triangles_.swap(dual.triangles);
    vectors_.swap(dual.vectors);
    if (static_cast<int>(vectors_.size()) != m) draw_vectors();
    // Variable 0 may stand for many; the others set the scale.
    double squares = 0;
    for (int i = 1; i < m; ++i) {
      for (int j = 1; j < i; ++j) squares += 2 * w[i * m + j] * w[i * m + j];
    }
    if (squares == 0) {
      for (int j = 1; j < m; ++j) squares += w[j] * w[j];
    }
    scale_ = squares > 0 ? std::sqrt(squares / (static_cast<double>(m) * m)) : 1.0;
    cut_ = 0;
    build();
  }

  // A round: the triangles that are violated now join, and so many steps of ascent; an estimate.
  double ascended(int round, int steps, float pace) {
    gram();
    drop_slack_ones();
    separate();
    lay_out();
    for (int inner = 0; inner < steps; ++inner) {
      if (inner) gram();
      ascend(0.005f * pace, 0.006f * pace);
      sweep(4);
    }
    take_multipliers();
    if (round % 5 == 4) build();
    sweep(2);
    return estimate();
  }

  // Hands state back to the node.
  bool leave(Dual& dual, bool above) {
    dual.triangles.swap(triangles_);
    dual.vectors.swap(vectors_);
    return above;
  }

  void draw_vectors() {
    vectors_.resize(m_);
    std::uint64_t state = 1;
    for (int i = 0; i < m_; ++i) {
      Sixteen& v = vector(i);
      for (int k = 0; k < 16; ++k) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const auto drawn = static_cast<float>(state >> 40) * 0x1p-23f - 1;
        v.part[k / kLanes][k % kLanes] = drawn;
      }
      v.scale(1 / std::max(v.norm(), 1e-6f));
    }
  }

  Sixteen& vector(int i) { return reinterpret_cast<Sixteen*>(vectors_.data())[i]; }

  float* row(std::vector<Part>& matrix, int i) const {
    return reinterpret_cast<float*>(matrix.data()) + static_cast<std::size_t>(i) * width_;
  }

  // The matrix M of the multipliers, in units of scale_.
  void build() {
    for (int i = 0; i < m_; ++i) {
      float* to = row(matrix_, i);
      for (int j = 0; j < m_; ++j) to[j] = static_cast<float>(w_[i * m_ + j] / scale_);
    }
    for (const Triangle& t : triangles_) {
      const auto& sign = kSigns[t.kind];
      row(matrix_, t.i)[t.j] -= sign[0] * t.multiplier;
      row(matrix_, t.i)[t.k] -= sign[1] * t.multiplier;
      row(matrix_, t.j)[t.k] -= sign[2] * t.multiplier;
    }
    symmetrise();
  }

  // Copies what is above the diagonal.
  void symmetrise() {
    constexpr int kTile = 16;
    for (int top = 0; top < m_; top += kTile) {
      for (int left = top; left < m_; left += kTile) {
        for (int i = top; i < std::min(top + kTile, m_); ++i) {
          const float* from = row(matrix_, i);
          for (int j = std::max(left, i + 1); j < std::min(left + kTile, m_); ++j) {
            row(matrix_, j)[i] = from[j];
          }
        }
      }
    }
  }

  // Each vector in turn against its field: the least energy that it can have.
  void sweep(int count) {
    for (; count > 0; --count) {
      for (int i = 0; i < m_; ++i) {
        const float* weights = row(matrix_, i);
        std::array<Sixteen, 4> sums{};
        int j = 0;
        for (; j + 3 < m_; j += 4) {
          for (int k = 0; k < 4; ++k) sums[k].add(weights[j + k], vector(j + k));
        }
        for (; j < m_; ++j) sums[0].add(weights[j], vector(j));
        sums[0] += sums[1];
        sums[2] += sums[3];
        sums[0] += sums[2];
        const float length = sums[0].norm();
        length_[i] = length;
        if (length > 1e-12f) {
          vector(i) = sums[0];
          vector(i).scale(-1 / length);
        }
      }
    }
  }

  // The bound, if the vectors had converged.
  double estimate() const {
    double sum = 0;
    for (const float length : length_) sum += 0.5 * length;
    for (const Triangle& t : triangles_) sum += t.multiplier;
    return -sum * scale_;
  }

  // X = V V^T, whole rows.
  void gram() {
    const int blocks = width_ / kLanes;
    float* across = reinterpret_cast<float*>(across_.data());
    for (int i = 0; i < m_; ++i) {
      for (int k = 0; k < 16; ++k) {
        across[static_cast<std::size_t>(k) * width_ + i] = vector(i).at(k);
      }
    }
    for (int i = 0; i < m_; ++i) {
      Part* to = gram_.data() + static_cast<std::size_t>(i) * blocks;
      for (int block = 0; block < blocks; ++block) {
        Part sum{};
        for (int k = 0; k < 16; ++k) {
          sum += vector(i).at(k) * across_[static_cast<std::size_t>(k) * blocks + block];
        }
        to[block] = sum;
      }
    }
  }

  float violation(const Triangle& t) {
    const auto& sign = kSigns[t.kind];
    const float *i = row(gram_, t.i), *j = row(gram_, t.j);
    return -(sign[0] * i[t.j] + sign[1] * i[t.k] + sign[2] * j[t.k] + 1);
  }

  void drop_slack_ones() {
    std::erase_if(triangles_, [this](const Triangle& t) {
      return t.multiplier <= 1e-4f && violation(t) <= -0.05f;
    });
  }

  // Adds the most violated triangles. `cut_` is what the least violated of them had last time.
  void separate() {
    constexpr float kLeast = 0.05f;
    const auto most = static_cast<std::size_t>(5) * m_;
    const float threshold = std::max(kLeast, 0.85f * cut_);
    violated_.clear();
    for (int i = 0; i < m_; ++i) {
      for (int j = i + 1; j < m_; ++j) scan(i, j, threshold);
    }
    if (violated_.size() > most) {
      const auto last = violated_.begin() + static_cast<std::ptrdiff_t>(most);
      std::nth_element(violated_.begin(), last, violated_.end(),
                       [](const auto& a, const auto& b) { return a.by > b.by; });
      cut_ = last->by;
      violated_.resize(most);
    } else {
      cut_ = 0.5f * threshold;
    }
    add_new_ones();
  }

  // Triangles of i < j with all larger k that are violated by more than the threshold.
  void scan(int i, int j, float threshold) {
    const Part *left = reinterpret_cast<const Part*>(row(gram_, i)),
               *right = reinterpret_cast<const Part*>(row(gram_, j));
    const float x = row(gram_, i)[j], bound = -1 - threshold;
    for (int block = (j + 1) / kLanes; block < width_ / kLanes; ++block) {
      const Part sum = left[block] + right[block], difference = left[block] - right[block];
      const Part alike = x - (sum < 0 ? -sum : sum);
      const Part unlike = -x - (difference < 0 ? -difference : difference);
      const Part least = alike < unlike ? alike : unlike;
      int any = 0;
      for (int k = 0; k < kLanes; ++k) any |= least[k] < bound;
      if (!any) continue;
      for (int k = 0; k < kLanes; ++k) {
        const int third = block * kLanes + k;
        if (!(least[k] < bound) || third <= j || third >= m_) continue;
        const int kind = alike[k] < unlike[k] ? (sum[k] < 0 ? 0 : 1) : (difference[k] < 0 ? 2 : 3);
        const auto vertex = [](int v) { return static_cast<std::uint16_t>(v); };
        const Triangle found{vertex(i), vertex(j), vertex(third), static_cast<std::uint8_t>(kind),
                             0};
        violated_.push_back({-1 - least[k], found});
      }
    }
  }

  void add_new_ones() {
    constexpr std::size_t kSlots = std::size_t{1} << 15, kMost = kSlots / 3;
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    seen_.assign(kSlots, kNone);
    const auto is_new = [this](const Triangle& t) {
      const std::uint64_t key = ((std::uint64_t{t.i} << 16 | t.j) << 16 | t.k) << 2 | t.kind;
      std::size_t slot = key * 0x9E3779B97F4A7C15u >> 49;
      for (; seen_[slot] != kNone; slot = (slot + 1) % kSlots) {
        if (seen_[slot] == key) return false;
      }
      seen_[slot] = key;
      return true;
    };
    for (const Triangle& t : triangles_) is_new(t);
    for (const Violated& found : violated_) {
      if (triangles_.size() >= kMost) break;
      if (is_new(found.triangle)) triangles_.push_back(found.triangle);
    }
  }

  // A multiplier's pace is that of the weakest of its three vectors: the length of its field.
  void lay_out() {
    const std::size_t n = triangles_.size();
    active_.resize(n);
    for (int i = 0; i < m_; ++i) inverse_[i] = 1 / (length_[i] + 1e-9f);
    for (std::size_t t = 0; t < n; ++t) {
      const Triangle& triangle = triangles_[t];
      const auto& sign = kSigns[triangle.kind];
      active_.ij[t] = triangle.i * width_ + triangle.j;
      active_.ik[t] = triangle.i * width_ + triangle.k;
      active_.jk[t] = triangle.j * width_ + triangle.k;
      active_.a[t] = sign[0];
      active_.b[t] = sign[1];
      active_.c[t] = sign[2];
      active_.pace[t] = 3 / (inverse_[triangle.i] + inverse_[triangle.j] + inverse_[triangle.k]);
      active_.sum[t] = active_.value[t] = triangle.multiplier;
    }
  }

  // Multipliers follow the sum of violations, and the violation itself, which damps them.
  void ascend(float slow, float quick) {
    const std::size_t n = triangles_.size();
    const float* x = row(gram_, 0);
    const std::int32_t *ij = active_.ij.data(), *ik = active_.ik.data(), *jk = active_.jk.data();
    const float *a = active_.a.data(), *b = active_.b.data(), *c = active_.c.data();
    const float* pace = active_.pace.data();
    float *sum = active_.sum.data(), *value = active_.value.data();
    float* change = active_.change.data();
#pragma GCC ivdep
    for (std::size_t t = 0; t < n; ++t) {
      const float violation = -(a[t] * x[ij[t]] + b[t] * x[ik[t]] + c[t] * x[jk[t]] + 1) * pace[t];
      const float total = sum[t] + slow * violation;
      sum[t] = total > 0 ? total : 0;
      const float now = sum[t] + quick * violation;
      const float kept = now > 0 ? now : 0;
      change[t] = kept - value[t];
      value[t] = kept;
    }
    float* matrix = row(matrix_, 0);
    for (std::size_t t = 0; t < n; ++t) {
      if (change[t] == 0) continue;
      matrix[ij[t]] -= a[t] * change[t];
      matrix[ik[t]] -= b[t] * change[t];
      matrix[jk[t]] -= c[t] * change[t];
    }
    symmetrise();
  }

  void take_multipliers() {
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      triangles_[t].multiplier = active_.value[t];
    }
  }

  // Tries to prove an estimate that is high enough, with some more sweeps if need be.
  bool proven_soon(double& energy, double target) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      if (!(energy > target)) return false;
      if (proven(target)) return true;
      sweep(20);
      energy = estimate();
    }
    return false;
  }

  // Whether the multipliers and y, which are the lengths of the fields, prove a bound above the
  // target.
  bool proven(double target) { return proof_.holds(m_, w_, triangles_, length_, scale_, target); }

  int m_ = 0, width_ = 0;
  const double* w_ = nullptr;
  double scale_ = 1;
  float cut_ = 0;
  std::vector<Part> matrix_, gram_, across_;
  std::vector<Unit> vectors_;
  std::vector<float> length_, inverse_;
  std::vector<Triangle> triangles_;
  Active active_;
  std::vector<Violated> violated_;
  std::vector<std::uint64_t> seen_;
  Proof proof_;
};

Elliptope::Elliptope() : descent_(std::make_unique<Descent>()) {}
Elliptope::~Elliptope() = default;

bool Elliptope::exceeds(int m, const double* w, double target, Dual& dual, bool dogged,
                        const volatile std::uint8_t* stop) {
  return descent_->exceeds(m, w, target, dual, dogged, stop);
}

void Elliptope::improve(int m, const double* w, Dual& dual) { descent_->improve(m, w, dual); }

double Elliptope::bound(int m, const double* w, int rounds, Dual& dual) {
  return descent_->bound(m, w, rounds, dual);
}

}  // namespace hardscape::ising
