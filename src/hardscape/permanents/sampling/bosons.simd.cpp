// Boson sampling by the second algorithm of Clifford and Clifford (arXiv:2005.04214): photons in a
// random order, each one's output drawn given those before it.
//
// The weight of output i for photon k is |per|^2 of the rows drawn so far and row i, by Laplace's
// expansion |sum_j a_ij minor_j|^2: the minors of the rows so far serve all outputs.
#include <numeric>

#include "native/random.hpp"
#include "permanents/kernel.hpp"
#include "permanents/sampling/laplace.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::uint64_t kSampling = 0x73616d706c65;  // "sample"

// Photons that may interfere, and what happens to them on the way.
struct Photons {
  const double* entries;  // [part][photon][row]
  std::size_t count, rows;
  const std::int32_t* groups;  // photons of different groups never interfere
  const double* kept;          // probability that a photon gets to the interferometer
  double overlap;              // probability that it interferes with others at all
};

class BosonSampler {
 public:
  BosonSampler(const Photons& photons, const volatile std::uint8_t* stop)
      : photons_(photons), stop_(stop), real_(photons.rows), imag_(photons.rows) {}

  // The rows that the photons of a sample come out of; stops early and tells so.
  bool draw(std::uint64_t seed, std::uint64_t sample, std::vector<std::size_t>& rows) {
    RandomStream random(seed, sample, kSampling);
    rows.clear();
    std::vector<std::pair<std::int32_t, std::size_t>> left;
    std::int32_t alone = -1;
    for (std::size_t j = 0; j < photons_.count; ++j) {
      if (random.uniform() >= photons_.kept[j]) continue;
      const bool interferes = random.uniform() < photons_.overlap;
      left.emplace_back(interferes ? photons_.groups[j] : alone--, j);
    }
    std::sort(left.begin(), left.end());
    for (auto first = left.begin(); first != left.end();) {
      const auto last =
          std::find_if(first, left.end(), [&](const auto& x) { return x.first != first->first; });
      order_.clear();
      for (; first != last; ++first) order_.push_back(first->second);
      if (!draw_group(random, rows)) return false;
    }
    return true;
  }

 private:
  Complex entry(std::size_t photon, std::size_t row) const {
    const std::size_t at = photon * photons_.rows + row;
    return {photons_.entries[at], photons_.entries[photons_.count * photons_.rows + at]};
  }

  bool draw_group(RandomStream& random, std::vector<std::size_t>& rows) {
    for (std::size_t i = order_.size(); i > 1; --i) {
      const auto k = static_cast<std::size_t>(random.uniform() * static_cast<double>(i));
      std::swap(order_[i - 1], order_[k]);
    }
    drawn_.clear();
    for (std::size_t k = 1; k <= order_.size(); ++k) {
      minors_.assign(1, 1);
      if (k > 1 && !find_minors(k)) return false;
      drawn_.push_back(next_row(random, k));
    }
    rows.insert(rows.end(), drawn_.begin(), drawn_.end());
    return true;
  }

  // Minors of the rows drawn so far and the first k photons of the order.
  bool find_minors(std::size_t k) {
    std::sort(drawn_.begin(), drawn_.end());
    chosen_.columns = k;
    chosen_.entries.clear();
    chosen_.counts.clear();
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      if (i > 0 && drawn_[i] == drawn_[i - 1]) {
        ++chosen_.counts.back();
        continue;
      }
      chosen_.counts.push_back(1);
      // Rows of about unit size: products of many stay far from what float64 cannot hold.
      double size = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const Complex x = entry(order_[j], drawn_[i]);
        size = std::max({size, std::abs(x.real()), std::abs(x.imag())});
      }
      for (std::size_t j = 0; j < k; ++j) {
        const Complex x = entry(order_[j], drawn_[i]) / size;
        chosen_.entries.insert(chosen_.entries.end(), {x.real(), x.imag()});
      }
    }
    if (k <= SubsetMinors::kMost) {
      by_subsets_.find(chosen_, minors_);
    } else {
      const bool by_rows = RowMinors::cost(chosen_) < SignMinors::cost(k);
      if (!(by_rows ? by_rows_.find(chosen_, stop_, minors_)
                    : by_signs_.find(chosen_, stop_, minors_))) {
        return false;
      }
    }
    double largest = 0;
    for (const Complex& x : minors_) {
      largest = std::max({largest, std::abs(x.real()), std::abs(x.imag())});
    }
    if (largest > 0) {
      for (Complex& x : minors_) x /= largest;
    }
    return true;
  }

  std::size_t next_row(RandomStream& random, std::size_t k) {
    std::fill(real_.begin(), real_.end(), 0.0);
    std::fill(imag_.begin(), imag_.end(), 0.0);
    for (std::size_t j = 0; j < k; ++j) {
      const double* re = photons_.entries + order_[j] * photons_.rows;
      const double* im = re + photons_.count * photons_.rows;
      const double x = minors_[j].real(), y = minors_[j].imag();
      for (std::size_t i = 0; i < photons_.rows; ++i) {
        real_[i] += x * re[i] - y * im[i];
        imag_[i] += x * im[i] + y * re[i];
      }
    }
    double sum = 0;
    for (std::size_t i = 0; i < photons_.rows; ++i) {
      sum += real_[i] * real_[i] + imag_[i] * imag_[i];
      real_[i] = sum;
    }
    const double target = random.uniform() * sum;
    const auto found = std::upper_bound(real_.begin(), real_.end(), target);
    if (found != real_.end()) return static_cast<std::size_t>(found - real_.begin());
    // The product was rounded up to the sum: the last row of any weight.
    return static_cast<std::size_t>(std::lower_bound(real_.begin(), real_.end(), sum) -
                                    real_.begin());
  }

  Photons photons_;
  const volatile std::uint8_t* stop_;
  std::vector<double> real_, imag_;
  std::vector<std::size_t> order_, drawn_;
  ChosenRows chosen_;
  std::vector<Complex> minors_;
  SubsetMinors by_subsets_;
  SignMinors by_signs_;
  RowMinors by_rows_;
};

auto sample_bosons(Cube entries, Vector<std::int32_t> groups, Vector<double> kept, double overlap,
                   Vector<std::int32_t> modes, std::size_t outputs, std::uint64_t seed,
                   std::uint64_t first, std::uint64_t last, Stop stop) {
  const Photons photons{entries.data(), entries.shape(1), entries.shape(2),
                        groups.data(),  kept.data(),      overlap};
  std::vector<std::int16_t> counts((last - first) * outputs);
  std::uint64_t done = first;
  {
    nb::gil_scoped_release release;
    BosonSampler sampler(photons, stop.data());
    std::vector<std::size_t> rows;
    for (; done < last && !*stop.data() && sampler.draw(seed, done, rows); ++done) {
      for (const std::size_t row : rows) {
        const std::int32_t mode = modes.data()[row];
        if (mode >= 0) ++counts[(done - first) * outputs + static_cast<std::size_t>(mode)];
      }
    }
  }
  counts.resize((done - first) * outputs);
  return to_numpy(std::move(counts), {done - first, outputs});
}

// What samplers stand on, for one matrix: 0, 1 and 2 for the ways over sets, signs and rows.
auto laplace_minors(Cube entries, Vector<std::int32_t> counts, int way, Stop stop) {
  const std::size_t columns = entries.shape(2);
  ChosenRows rows{columns, {}, {counts.data(), counts.data() + counts.size()}};
  for (std::size_t at = 0; at < counts.size() * columns; ++at) {
    rows.entries.push_back(entries.data()[at]);
    rows.entries.push_back(entries.data()[counts.size() * columns + at]);
  }
  std::vector<Complex> minors;
  bool done = true;
  if (way == 0 && columns <= SubsetMinors::kMost) SubsetMinors().find(rows, minors);
  if (way == 1) done = SignMinors().find(rows, stop.data(), minors);
  if (way == 2) done = RowMinors().find(rows, stop.data(), minors);
  const std::size_t count = minors.size();
  return std::make_tuple(to_numpy(std::move(minors), {count}), done);
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "sample_bosons", &sample_bosons, nb::arg("entries"), nb::arg("groups"), nb::arg("kept"),
      nb::arg("overlap"), nb::arg("modes"), nb::arg("outputs"), nb::arg("seed"), nb::arg("first"),
      nb::arg("last"), nb::arg("stop"),
      "Photons in each output of samples first to last-1, or of those before it was stopped; "
      "entries (parts, photons, rows), modes of the rows or -1.");
  module.def(
      "laplace_minors", &laplace_minors, nb::arg("entries"), nb::arg("counts"), nb::arg("by_rows"),
      nb::arg("stop"),
      "Minors of rows, repeated by counts, without each column, up to a factor; tells whether "
      "it was done.");
});

}  // namespace
}  // namespace hardscape::permanents
