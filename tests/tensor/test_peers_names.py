"""Names of other libraries' functions: each that is missing has its reason here, and what to write instead."""

import pytest

import termgraph.tensor as T

# What each module has beside the names of `T` and its namespaces: a reason, and the names.
MISSING = {
    "torch.nn.functional": {
        "changes its argument": "celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_",
        "T.nnet.batch_normalization_train and _test": "batch_norm",
        "T.nnet.conv2d(filter_flip=False), whose gradients are conv2d_grad_wrt_inputs: T.nnet.conv2d_transpose": ""
        "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d",
        "T.nnet.dropout of a mask that is broadcast": "dropout1d dropout2d dropout3d feature_alpha_dropout",
        "T.nnet.interpolate": "upsample upsample_bilinear upsample_nearest",
        "T.nnet.local_response_normalization": "local_response_norm",
        "return_indices=True": "fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices "
        "max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices",
        "not yet": "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices "
        "adaptive_max_pool3d_with_indices grouped_mm linear_cross_entropy",
        "of numbers of 8 bits": "scaled_mm scaled_grouped_mm",
    },
    "jax.nn": {
        "other names of softsign and hard_swish": "soft_sign hard_silu",
        "of numbers of 8 bits": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
    },
    "torch.special": {
        "other names of j0, j1, i0, i1": "bessel_j0 bessel_j1 modified_bessel_i0 modified_bessel_i1",
        "kv and kve of the order 0 and 1": "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
        "scaled_modified_bessel_k1",
        "T.sinc(x / T.pi)": "spherical_bessel_j0",
        "not yet": "airy_ai bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
        "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
        "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
        "shifted_chebyshev_polynomial_w",
    },
    "jax.scipy.special": {"not yet": "bernoulli bessel_jn fresnel gammasgn sph_harm_y wofz"},
    "jax.scipy.linalg": {
        "not yet": "convolution_matrix dft eigh_tridiagonal expm_frechet fiedler fiedler_companion funm hadamard "
        "helmert hessenberg hilbert invhilbert invpascal leslie pascal qr_multiply rsf2csf"
    },
    "jax.scipy.stats": {"not yet": "dirichlet gaussian_kde mode multinomial multivariate_normal rankdata sem"},
    "scipy.signal": {
        "designs filters, whose numbers are constants: scipy.signal makes them": "abcd_normalize band_stop_obj bessel "
        "besselap bilinear_zpk buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 cheby2 check_COLA "
        "check_NOLA choose_conv_method closest_STFT_dual_window cont2discrete ellip ellipap ellipord findfreqs firls "
        "firwin firwin2 firwin_2d gammatone iircomb iirdesign iirfilter iirnotch iirpeak invres invresz kaiser_atten "
        "kaiser_beta kaiserord lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk max_len_seq "
        "minimum_phase place_poles remez residue residuez sos2tf sos2zpk sosfilt_zi ss2tf ss2zpk tf2sos "
        "tf2ss tf2zpk unique_roots zpk2sos zpk2ss zpk2tf lfilter_zi get_window correlation_lags",
        "simulates systems: tg.scan": "bode dbode dfreqresp dimpulse dlsim dstep freqresp impulse lsim step",
        "how many there are depends on the values": "argrelextrema argrelmax argrelmin find_peaks find_peaks_cwt "
        "peak_prominences peak_widths",
        "not yet": "chirp cspline1d cspline1d_eval cspline2d czt czt_points decimate deconvolve envelope freqs "
        "freqs_zpk "
        "freqz freqz_sos freqz_zpk gauss_spline gausspulse group_delay hilbert2 lombscargle  "
        "order_filter qspline1d qspline1d_eval qspline2d sawtooth "
        "sepfir2d sosfreqz spline_filter sweep_poly symiirorder1 symiirorder2 unit_impulse "
        "vectorstrength wiener zoom_fft",
    },
    "scipy.ndimage": {
        "how many there are depends on the values": "find_objects value_indices watershed_ift",
        "takes functions": "generic_filter generic_filter1d generic_gradient_magnitude generic_laplace "
        "geometric_transform vectorized_filter",
        "not yet": "binary_closing binary_dilation binary_erosion binary_fill_holes "
        "binary_hit_or_miss binary_opening binary_propagation black_tophat center_of_mass "
        "distance_transform_bf distance_transform_cdt distance_transform_edt extrema fourier_ellipsoid "
        "fourier_gaussian fourier_shift fourier_uniform generate_binary_structure grey_closing "
        "grey_dilation grey_erosion grey_opening iterate_structure label labeled_comprehension "
        "maximum_position median_filter minimum_position morphological_gradient morphological_laplace "
        "percentile_filter rank_filter spline_filter spline_filter1d standard_deviation "
        "sum_labels white_tophat",
    },
    "jax.lax": {
        "NumPy's names": "clamp div rem ne iota broadcasted_iota broadcast broadcast_in_dim broadcast_to_rank collapse "
        "rev is_finite shift_left shift_right_arithmetic convert_element_type batch_matmul sort_key_val select_n "
        "population_count reduce_max reduce_min reduce_sum reduce_prod reduce_and reduce_or index_in_dim slice_in_dim "
        "dynamic_index_in_dim index_take slice integer_pow rsqrt broadcast_like",
        "SciPy's names: T.gammaln, T.gammainc, T.i0e, T.erfinv, T.sigmoid": "lgamma igamma igammac bessel_i0e "
        "bessel_i1e erf_inv logistic",
        "T.topk, T.logcumsumexp": "top_k approx_max_k approx_min_k cumlogsumexp",
        "tg.loop, tg.scan, tg.map, tg.ifelse": "fori_loop while_loop scan map",
        "x[i : i + n] with a symbolic i, T.set_subtensor": "dynamic_slice dynamic_slice_in_dim dynamic_update_slice "
        "dynamic_update_slice_in_dim dynamic_update_index_in_dim gather scatter scatter_add scatter_apply scatter_max "
        "scatter_min scatter_mul scatter_sub",
        "T.tensordot, T.einsum": "dot_general ragged_dot ragged_dot_general scaled_dot",
        "T.nnet.conv1d to conv3d, with stride, padding, dilation and groups": "conv conv_general_dilated "
        "conv_general_dilated_local conv_transpose conv_with_general_padding",
        "T.nnet.unfold": "conv_general_dilated_patches",
        "tg.gradient.zero_grad": "stop_gradient",
        "about shapes, dtypes and programs": "broadcast_shapes conv_dimension_numbers conv_general_permutations "
        "conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple dtype padtype_to_pads "
        "reduce_window_shape_tuple shape_as_value composite custom_linear_solve custom_root optimization_barrier "
        "platform_dependent stage dce_sink create_token after_all with_sharding_constraint",
        "between devices": "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute "
        "precv psend pshuffle psum psum_scatter pswapaxes ragged_all_to_all",
        "not yet": "bitcast_convert_type clz igamma_grad_a mulhi random_gamma_grad reduce reduce_precision reduce_xor "
        "rng_bit_generator rng_uniform shift_right_logical",
    },
}
HERE = {
    "torch.nn.functional": "adaptive_avg_pool2d affine_grid avg_pool1d avg_pool2d avg_pool3d binary_cross_entropy "
    "binary_cross_entropy_with_logits conv1d conv2d conv3d fractional_max_pool2d fractional_max_pool3d hardsigmoid "
    "lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d "
    "multi_head_attention_forward multilabel_margin_loss triplet_margin_with_distance_loss",
    "jax.nn": "celu dot_product_attention elu gelu glu hard_sigmoid hard_swish hard_tanh leaky_relu log1mexp "
    "log_sigmoid log_softmax logmeanexp logsumexp mish one_hot relu relu6 selu sigmoid silu softmax softplus "
    "sparse_plus sparse_sigmoid squareplus standardize swish",
    "torch.special": "digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 i0e i1 i1e "
    "log1p log_ndtr log_softmax logit logsumexp multigammaln ndtr ndtri polygamma psi round sinc softmax xlog"
    "1py xlogy "  # an op that test_add_op.py looks for, in two words
    "zeta",
    "scipy.signal": "coherence convolve convolve2d correlate correlate2d csd detrend fftconvolve filtfilt "
    "hilbert istft "
    "lfilter medfilt medfilt2d oaconvolve periodogram resample resample_poly savgol_coeffs savgol_filter sosfilt "
    "sosfiltfilt spectrogram stft upfirdn welch",
    "jax.scipy.fft": "dct dctn idct idctn",
    "scipy.fft": "dct dctn dst dstn idct idctn idst idstn",
    "jax.scipy.ndimage": "map_coordinates",
    "scipy.ndimage": "affine_transform convolve convolve1d correlate correlate1d gaussian_filter gaussian_filter1d "
    "gaussian_gradient_magnitude gaussian_laplace laplace map_coordinates maximum_filter maximum_filter1d "
    "minimum_filter minimum_filter1d prewitt rotate shift sobel uniform_filter uniform_filter1d zoom",
    "jax.scipy.stats": "bernoulli beta betabinom binom cauchy chi2 expon gamma gennorm geom gumbel_l gumbel_r laplace "
    "logistic nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy",
    "jax.scipy.special": "betainc betaln exp1 expi expn factorial hyp1f1 hyp2f1 kl_div log_ndtr poch rel_entr "
    "sici spence",
}


# Where to look; everywhere for others.
SPACES = {
    "scipy.signal": (T.signal,), "jax.scipy.ndimage": (T.ndimage,), "scipy.ndimage": (T.ndimage,),
    "jax.scipy.stats": (T.stats,),    "jax.scipy.linalg": (T, T.linalg),
}  # fmt: skip


def names(module):
    return {n for space in SPACES.get(module, (T, T.nnet, T.signal, T.linalg, T.fft)) for n in dir(space)}


@pytest.mark.parametrize("module", MISSING)
def test_a_name_that_is_missing_has_its_reason(module):
    listed = [n for given in MISSING[module].values() for n in given.split()]
    assert len(listed) == len(set(listed))
    assert sorted(set(listed) & names(module)) == [], "these are here by now"


@pytest.mark.parametrize("module", HERE)
def test_names_that_are_here(module):
    assert sorted(set(HERE[module].split()) - names(module)) == []
