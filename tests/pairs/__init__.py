"""Pairs of features: small whole programs, built inside other features and run in other ways, beside the plain ones."""
