"""How many floating-point operations rows need at least whose count does not follow from one product of their lengths.

Textbook counts: Golub and Van Loan, "Matrix Computations", 4th edition, for matrices; 5 N log2 N of the split radix-2
transform, half of it for real numbers. Where a method iterates only what every method does is counted (a symmetric
matrix becomes tridiagonal, its vectors come back), so that the limit stays one. Nothing but text.

What has no such count is in UNCOUNTED: sorts, searches, random bits and divisors need comparisons and whole numbers, of
which the peak of a product says nothing; special functions, densities of theirs among them, are computed by recurrences
and approximations that are matters of choice. The bytes they move are no limit of theirs: a row says how far it is from
moving them, but no median counts it. Elementary functions are not among them.
"""

from __future__ import annotations

import re

_LU = "2*n**3/3"
_QR = "2*m**2*(n - m/3)"  # Householder's reflections of n x m, n >= m
_TRIDIAGONAL = "4*n**3/3"
_BIDIAGONAL = "2*n*m**2 + 2*m**3"  # after QR
_SVD = "6*n*m**2 + 4*m**3"  # QR, its factor, the product of it with the left vectors; two transformations of m x m
_SCHUR = "25*n**3"  # the form of Schur with its vectors
_COMPLEX, _HALF = "5*{n}*log2({n})", "5/2*{n}*log2({n})"


def _each(count: str) -> str:
    return f"b*({count})"


OPERATIONS = {
    # factors and solutions
    "linalg.inv": "2*n**3",
    "linalg.matrix_inverse": "2*n**3",
    "linalg.tensorinv": "2*n**3",
    "linalg.inv (batch)": _each("2*n**3"),
    "linalg.det": _LU,
    "linalg.slogdet": _LU,
    "linalg.det (batch)": _each(_LU),
    "linalg.solve": f"{_LU} + 2*n**2*m",
    "linalg.solve (batch)": _each(f"{_LU} + 2*n**2*m"),
    "linalg.cholesky": "n**3/3",
    "linalg.cho_factor": "n**3/3",
    "linalg.cholesky (batch)": _each("n**3/3"),
    "linalg.cho_solve": "2*n**2*m",
    "linalg.solve_triangular": "n**2*m",
    "linalg.qr": f"2*({_QR})",  # R, and as many again for Q
    "linalg.lstsq": f"{_QR} + m*(4*n*m - m**2)",  # m right sides
    "composite: multivariate normal": "n**3/3 + n**2",
    "linalg.lu": _LU,
    "linalg.lu_factor": _LU,
    "linalg.pivot_to_permutation": _LU,
    "linalg.lu_solve": f"{_LU} + 2*n**2*m",
    "linalg.solve_sylvester": f"{_SCHUR} + 10*n**3",  # one matrix is both coefficients
    "linalg.solve_continuous_lyapunov": f"{_SCHUR} + 10*n**3",
    "linalg.solve_discrete_lyapunov": f"{_SCHUR} + 10*n**3",
    "linalg.schur": _SCHUR,
    "linalg.polar": "22*n**3 + 2*n**3",  # by singular values, and the product of their vectors
    # eigenvalues and singular values
    "linalg.eigvalsh": _TRIDIAGONAL,
    "linalg.eigh": f"{_TRIDIAGONAL} + 2*n**3",
    "linalg.eigh (batch)": _each(f"{_TRIDIAGONAL} + 2*n**3"),
    "linalg.eigvals": "10*n**3",
    "linalg.eig": "25*n**3",
    "linalg.svdvals": _BIDIAGONAL,
    "linalg.matrix_rank": _BIDIAGONAL,
    "linalg.svd": _SVD,
    "linalg.pinv": f"{_SVD} + 2*n*m**2",
    "linalg.cond": "8*n**3/3",
    # products
    "linalg.matrix_power": "6*n**3",  # x^2, x^4, x^5
    "linalg.expm": "38*n**3/3",  # four powers of two factors, one product, one solution: Pade's form of degree 9
    "linalg.multi_dot": "4*n*m*k",
    "linalg.matrix_dot": "4*n**3",
    "corrcoef": "n**2*m",  # half of a symmetric product
    "cov": "k**2*n",
    "composite: pairwise distances": "2*n*m*k",
    "composite: gaussian kernel": "2*n*m*k",
    "nnet.h_softmax": "2*n*m*k + 2*n*m*k**2",
    "nnet.linear": "2*n*m*k",
    "nnet.bilinear": "2*n*k**3 + 2*n*k**2",
    "nnet.multi_head_attention_forward": "2*t*b*64*64*4 + 4*b*t*t*64",
    "nnet.dot_product_attention": "4*b*4*t*t*d",
    # transforms; of complex halves 2 (n - 1) real numbers come back
    "fft.fft": _each(_COMPLEX.format(n="n")),
    "fft.ifft": _each(_COMPLEX.format(n="n")),
    "fft.fft (one)": _COMPLEX.format(n="n"),
    "fft.rfft": _each(_HALF.format(n="n")),
    "fft.rfft (columns)": _each(_HALF.format(n="n")),
    "fft.ihfft": _each(_HALF.format(n="n")),
    "composite: power spectrum": _each(_HALF.format(n="n")),
    "fft.irfft": _each(_HALF.format(n="(2*n - 2)")),
    "fft.hfft": _each(_HALF.format(n="(2*n - 2)")),
    **dict.fromkeys(("fft.fft2", "fft.ifft2", "fft.fftn", "fft.ifftn"), _COMPLEX.format(n="n**2")),
    **dict.fromkeys(("fft.rfft2", "fft.rfftn"), _HALF.format(n="n**2")),
    **dict.fromkeys(("fft.irfft2", "fft.irfftn"), _HALF.format(n="(n*(2*n - 2))")),
    **dict.fromkeys(("fft.dct", "fft.idct", "fft.dst", "fft.idst"), _each(_HALF.format(n="n"))),
    **dict.fromkeys(("fft.dct (type 1)", "fft.dct (type 3)", "fft.dct (type 4)"), _each(_HALF.format(n="n"))),
    **dict.fromkeys(("fft.dctn", "fft.idctn", "fft.dstn", "fft.idstn"), _HALF.format(n="n**2")),
    # signals: transforms of both factors and back, of windows of 8 and 4 of which every second begins
    "signal.fftconvolve": f"3*{_HALF.format(n='(n + m)')}",
    "signal.oaconvolve": "2*n*5/2*log2(4*m)*4/3",  # blocks of four times the filter, there and back
    "signal.convolve": "2*5/2*n*log2(4*k)*4/3",
    "signal.correlate": "2*5/2*n*log2(4*k)*4/3",
    "signal.hilbert": f"2*{_HALF.format(n='n')}",
    **dict.fromkeys(("signal.stft", "signal.istft", "signal.welch", "signal.spectrogram"), "n/4*(5/2*8*3)"),
    **dict.fromkeys(("signal.csd", "signal.coherence"), "2*n/2*(5/2*4*2)"),
    "signal.lfilter": "7*n",
    "signal.filtfilt": "14*n",
    "signal.sosfilt": "18*n",
    "signal.sosfiltfilt": "36*n",
    # convolutions whose images are larger or smaller than those of `conv2d`
    "nnet.conv2d_transpose": "2*b*f*c*w**2*n**2",
    "nnet.conv2d_grad_wrt_inputs": "2*b*f*c*w**2*n**2",
    "nnet.conv2d_grad_wrt_weights": "2*b*f*c*w**2*(n - 2)**2",
    "nnet.conv3d_grad_wrt_inputs": "2*b*f*c*w**3*n**3",
    "nnet.conv3d_grad_wrt_weights": "2*b*f*c*w**3*(n - 2)**3",
    "nnet.separable_conv2d": "2*b*c*(w**2 + f)*(n - w + 1)**2",
    "nnet.separable_conv3d": "2*b*c*(w**3 + f)*(n - w + 1)**3",
    "nnet.causal_conv1d": "2*b*f*c*w*n",
}

UNCOUNTED = re.compile(
    r"random\.|stats\.|composite: (sampling|draws)|(sparse\.)?("
    r"sort|argsort|lexsort|partition|argpartition|unique(_\w+)?|searchsorted|digitize|histogram|histogram2d|median"
    r"|quantile|percentile|nan(median|quantile|percentile)|topk|argtopk|topk_and_argtopk|intersect1d|union1d|setdiff1d|setxor1d"
    r"|isin|interp|gcd|lcm"
    r"|erf\w*|gamma\w*|beta\w*|poch|binom|comb|factorial|digamma|polygamma|tri_gamma|psi|zeta|[ijk][01]e?|[ijk]ve?|kn"
    r"|hyp\df\d|exp1|expn|expi|spence|sici|sinint|cosint|lambertw|dawsn|owens_t|ndtri?|log_ndtr|chi2sf|multigammaln"
    r"|loggamma|kaiser"
    r")\b"
)
