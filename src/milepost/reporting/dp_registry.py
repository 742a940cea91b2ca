"""A draft entry about a release for the OpenDP deployments registry.

Entries that only the curator can write (who, why, where) stay empty; the rest comes from the description.
"""

from dataclasses import dataclass
from typing import Any

from milepost.privacy import guarantee
from milepost.reporting.description import Description, error_text, size_text, versions_text
from milepost.reporting.statement import lines
from milepost.spaces.bounds_provenance import BallProvenance


def registry_entry(description: Description) -> dict[str, Any]:
    """Return a draft entry as JSON, which is also YAML."""
    text, change, variant = lines(description), description.change, _variant(description)
    loss = {name: float(getattr(description.guarantee, name)) for name in variant.parameters}
    subject = f"a table of {size_text(description)}: {description.kind}, {error_text(description)}."
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": "",
                "data_curators": [],
                "intended_use": "",
                "data_product_type": "Summary statistics",
                "data_product_region": "",
                "description": f"Mean distances to the people in {subject}",
                "publication_date": "",
                "data_product_sector": "",
            },
            "dp_variant": {
                "name": variant.name,
                "input_metric": "Change-one distance" if change.replaces else "Symmetric distance",
                "bound_on_input_distance": 1 if change.replaces else change.contributions,
                "output_measure": variant.measure,
                "bound_on_output_distance": [*loss.values()] if variant.single is None else loss[variant.single],
                "data_domain": f"Rows of {', '.join(description.columns)}; {description.clipping_rule}.",
                "unprotected_quantities": text["Public"],
            },
            "privacy_loss": {
                "privacy_unit": f"{(change.privacy_unit or 'row').capitalize()}-level",
                "privacy_unit_description": text["Protected"],
                "privacy_parameters": loss,
                "privacy_parameters_description": text.get("Bounds", "The whole cost of this release."),
            },
            "model": {
                "model_name": "Central",
                "model_name_description": "The curator holds the rows, adds the noise, and publishes only the file.",
                "actors": "",
                "release_type": "Single release",
                "release_type_description": "One file answers every query. Queries cost no privacy.",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_description": "",
            },
            "accounting": {
                "post_processing": "All answers, intervals, maps and centres are computed from the released integers.",
                "composition": _composition(description),
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": text["Outliers"],
                "mechanisms": f"{text['Mechanism']} {versions_text(description)}.",
                "justification": "",
            },
            "resources": {"sources": "", "registry_authors": []},
        },
    }


def _composition(description: Description) -> str:
    """Return what the privacy loss is composed of."""
    provenance = description.bounds_provenance
    own_ball = isinstance(provenance, BallProvenance) and not provenance.earlier
    parts = ["One mechanism"]
    if own_ball:
        parts.append("a private centre and radius, with a share of its budget")
    if not description.change.public_total:
        parts.append("a noisy number of rows")
    return ", and ".join(parts) + "."


@dataclass(frozen=True)
class Variant:
    """A definition of privacy, how it measures loss, and the names of its parameters.

    single: the parameter that bounds the loss alone; None where all of them do together.
    """

    name: str
    measure: str
    parameters: tuple[str, ...]
    single: str | None = None


PURE = Variant("Pure DP", "Max divergence", ("epsilon",))
CONCENTRATED = Variant("Zero-concentrated DP", "Zero-concentrated divergence", ("epsilon", "delta", "rho"), "rho")
NORMAL = Variant("Gaussian DP", "Trade-off function", ("epsilon", "delta", "mu"), "mu")
APPROXIMATE = Variant("Approximate DP", "Smoothed max divergence", ("epsilon", "delta"))


def _variant(description: Description) -> Variant:
    """Return the definition of privacy; a private number of rows costs a part of ε, so the sum is stated as (ε, δ)."""
    if description.accounting == guarantee.PURE:
        return PURE
    if not description.change.public_total:
        return APPROXIMATE
    return NORMAL if description.accounting == guarantee.GAUSSIAN else CONCENTRATED
