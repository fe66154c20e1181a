// A small matrix as Python holds it, read without NumPy.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace hardscape::permanents {
namespace {

namespace nb = nanobind;

// Largest side.
constexpr std::size_t kMostGiven = 20;

// An array of a type that float64 or int64 may hold, through the buffer protocol.
class Given {
 public:
  explicit Given(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_RECORDS_RO) != 0) PyErr_Clear();
    if (!view_.obj || view_.ndim != 2) return;
    const char* format = view_.format;
    if (format[0] == 'Z') {
      type_ = format[1] == 'd' ? 'D' : format[1] == 'f' ? 'F' : 0;
    } else if (format[0] && !format[1]) {
      type_ = format[0];
    }
    rows = static_cast<std::size_t>(view_.shape[0]);
    columns = static_cast<std::size_t>(view_.shape[1]);
  }
  ~Given() { PyBuffer_Release(&view_); }
  Given(const Given&) = delete;

  // Rows of a square, 0 of other matrices.
  std::size_t side() const { return rows == columns ? rows : 0; }

  bool is_complex() const { return type_ == 'D' || type_ == 'F'; }

  // Calls take(place, real part, imaginary part) for each entry, if they are floating numbers.
  template <class Take>
  bool floating(Take&& take) const {
    switch (type_) {
      case 'd':
        return each<double>([&](std::size_t at, double x) { take(at, x, 0.0); });
      case 'f':
        return each<float>([&](std::size_t at, double x) { take(at, x, 0.0); });
      case 'D':
        return each<Parts<double>>(
            [&](std::size_t at, Parts<double> x) { take(at, x.real, x.imag); });
      case 'F':
        return each<Parts<float>>(
            [&](std::size_t at, Parts<float> x) { take(at, x.real, x.imag); });
      default:
        return false;
    }
  }

  // Copies the entries, real and imaginary parts, if they are floating numbers.
  bool read(double (*entries)[2]) const {
    return floating([&](std::size_t at, double x, double y) {
      entries[at][0] = x;
      entries[at][1] = y;
    });
  }

  // Copies the entries, if they are integers of 63 bits and a sign.
  bool read(std::int64_t* entries) const {
    const auto keep = [&](std::size_t at, auto x) { entries[at] = static_cast<std::int64_t>(x); };
    switch (type_) {
      case '?':
      case 'B':
        return each<std::uint8_t>(keep);
      case 'b':
        return each<std::int8_t>(keep);
      case 'H':
        return each<std::uint16_t>(keep);
      case 'h':
        return each<std::int16_t>(keep);
      case 'I':
        return each<std::uint32_t>(keep);
      case 'i':
        return each<std::int32_t>(keep);
      case 'l':
      case 'q':
        return view_.itemsize == 8 ? each<std::int64_t>(keep) : each<std::int32_t>(keep);
      default:
        return false;
    }
  }

  std::size_t rows = 0, columns = 0;  // 0 for what is not read

 private:
  template <class T>
  struct Parts {
    T real, imag;
  };

  template <class T, class Take>
  bool each(Take&& take) const {
    const auto* row = static_cast<const char*>(view_.buf);
    for (std::size_t i = 0; i < rows; ++i, row += view_.strides[0]) {
      const char* place = row;
      for (std::size_t j = 0; j < columns; ++j, place += view_.strides[1]) {
        T x;
        std::memcpy(&x, place, sizeof x);
        take(i * columns + j, x);
      }
    }
    return true;
  }

  Py_buffer view_ = {};
  char type_ = 0;  // as Python's struct names it; D and F for complex ones
};

// The value times a power of two as Python has it; None if that is not finite, or loses digits.
inline nb::object shifted(std::complex<double> value, int exponent, bool is_complex) {
  constexpr double least = 0x1p-1000;
  const double real = std::ldexp(value.real(), exponent), imag = std::ldexp(value.imag(), exponent);
  const double size = std::max(std::abs(real), std::abs(imag));
  if (!(size <= std::numeric_limits<double>::max()) || (size < least && value != 0.0)) {
    return nb::none();
  }
  if (!is_complex) return nb::float_(real);
  return nb::steal(PyComplex_FromDoubles(real, imag));
}

}  // namespace
}  // namespace hardscape::permanents
