"""Adapters that speak the language of other packages; each needs the package that it is named after.

`exacta.integrations.torchmetrics` has subclasses of `torchmetrics.Metric`, `exacta.integrations.monai` those of
`monai.metrics.CumulativeIterationMetric`, and `exacta.integrations.sklearn` functions with the arguments of
`sklearn.metrics`, which need NumPy alone. They keep the host's order of arguments and its reductions; values are those
of `exacta.functional`.
"""
