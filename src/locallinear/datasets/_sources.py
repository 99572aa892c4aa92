"""The public data sets: addresses, checksums, columns, licences and citations."""

from dataclasses import dataclass

# One place to correct if the repository moves.
BASE_ADDRESS = "https://archive.ics.uci.edu/static/public"


@dataclass(frozen=True)
class Source:
    """A public data set: where its original is and what it must hold.

    Attributes
    ----------
    name : str
        Name of the tidy file, without ``.csv``.
    title : str
        The set's name in running text.
    archive : str
        Path of the zip below the base address.
    original : str
        The file inside the zip.
    sha256 : str or None
        Checksum of that file. None where no trusted copy was available: then only its shape,
        header and numbers are checked.
    layout : {"sheet", "named", "headerless"}
        How the original is written: an .xls sheet, comma separated with a header, or semicolon
        separated without one.
    n_samples : int
    inputs, targets : tuple of str
        Columns of the tidy file, in this order.
    groups : str or None
        A first column that is no input: samples with equal values belong together.
    licence, citation : str
    """

    name: str
    title: str
    archive: str
    original: str
    sha256: str | None
    layout: str
    n_samples: int
    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    licence: str
    citation: str
    groups: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Header of the tidy file."""
        first = () if self.groups is None else (self.groups,)
        return first + self.inputs + self.targets

    @property
    def address(self) -> str:
        """Where the archive is downloaded from."""
        return f"{BASE_ADDRESS}/{self.archive}"

    @property
    def archive_name(self) -> str:
        """File name of an archive that was downloaded by hand."""
        return self.archive.rpartition("/")[2]


def _superconductivity_inputs() -> tuple[str, ...]:
    properties = (
        "atomic_mass",
        "fie",
        "atomic_radius",
        "Density",
        "ElectronAffinity",
        "FusionHeat",
        "ThermalConductivity",
        "Valence",
    )
    statistics = ("mean", "gmean", "entropy", "range", "std")
    return (
        "number_of_elements",
        *(
            f"{weighting}{statistic}_{quantity}"
            for quantity in properties
            for statistic in statistics
            for weighting in ("", "wtd_")
        ),
    )


CONCRETE = Source(
    name="concrete",
    title="Concrete compressive strength",
    archive="165/concrete+compressive+strength.zip",
    original="Concrete_Data.xls",
    sha256="710076c66b9ca3f8050e7942f3dcbdbe04013534daeb0077ffd3079a52d8e0c4",
    layout="sheet",
    n_samples=1030,
    inputs=(
        "cement",
        "blast_furnace_slag",
        "fly_ash",
        "water",
        "superplasticizer",
        "coarse_aggregate",
        "fine_aggregate",
        "age_day",
    ),
    targets=("compressive_strength_mpa",),
    licence="CC BY 4.0, https://doi.org/10.24432/C5PK67",
    citation=(
        "I-C. Yeh (1998). Modeling of strength of high-performance concrete using artificial "
        "neural networks. Cement and Concrete Research 28(12), 1797-1808."
    ),
)

SUPERCONDUCTIVITY = Source(
    name="superconductivity",
    title="Superconductivity",
    archive="464/superconductivty+data.zip",  # the repository's own spelling
    original="train.csv",
    sha256=None,
    layout="named",
    n_samples=21263,
    inputs=_superconductivity_inputs(),
    targets=("critical_temp",),
    licence="CC BY 4.0, https://doi.org/10.24432/C53P47",
    citation=(
        "K. Hamidieh (2018). A data-driven statistical model for predicting the critical "
        "temperature of a superconductor. Computational Materials Science 154, 346-354."
    ),
)

QSAR_AQUATIC_TOXICITY = Source(
    name="qsar_aquatic_toxicity",
    title="QSAR aquatic toxicity",
    archive="505/qsar+aquatic+toxicity.zip",
    original="qsar_aquatic_toxicity.csv",
    sha256="cee55fadc4b021d3ff1567612a7ac32d7e212845a4ca9eb3ef983b78e0c17856",
    layout="headerless",
    n_samples=546,
    inputs=("TPSA", "SAacc", "H-050", "MLOGP", "RDCHI", "GATS1p", "nN", "C-040"),
    targets=("LC50",),
    licence="CC BY 4.0 (the UCI repository's general licence)",
    citation=(
        "M. Cassotti, D. Ballabio, V. Consonni, A. Mauri, I. Tetko, R. Todeschini (2014). "
        "Prediction of acute aquatic toxicity toward Daphnia magna by using the GA-kNN method. "
        "Alternatives to Laboratory Animals 42, 31-41."
    ),
)

QSAR_FISH_TOXICITY = Source(
    name="qsar_fish_toxicity",
    title="QSAR fish toxicity",
    archive="504/qsar+fish+toxicity.zip",
    original="qsar_fish_toxicity.csv",
    sha256="ea70c73b8d4e5b77740861470dc036dd8cf0d6766354d1b247ce015c2dc71168",
    layout="headerless",
    n_samples=908,
    inputs=("CIC0", "SM1_Dz(Z)", "GATS1i", "NdsCH", "NdssC", "MLOGP"),
    targets=("LC50",),
    licence="CC BY 4.0, https://doi.org/10.24432/C5JG7B",
    citation=(
        "M. Cassotti, D. Ballabio, R. Todeschini, V. Consonni (2015). A similarity-based QSAR "
        "model for predicting acute toxicity towards the fathead minnow (Pimephales promelas). "
        "SAR and QSAR in Environmental Research 26(3), 217-243."
    ),
)

PARKINSONS = Source(
    name="parkinsons",
    title="Parkinsons telemonitoring",
    archive="189/parkinsons+telemonitoring.zip",
    original="parkinsons_updrs.data",
    sha256="f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
    layout="named",
    n_samples=5875,
    inputs=(
        "age",
        "sex",
        "test_time",
        "Jitter(%)",
        "Jitter(Abs)",
        "Jitter:RAP",
        "Jitter:PPQ5",
        "Jitter:DDP",
        "Shimmer",
        "Shimmer(dB)",
        "Shimmer:APQ3",
        "Shimmer:APQ5",
        "Shimmer:APQ11",
        "Shimmer:DDA",
        "NHR",
        "HNR",
        "RPDE",
        "DFA",
        "PPE",
    ),
    targets=("motor_UPDRS", "total_UPDRS"),
    groups="subject#",
    licence="CC BY 4.0, https://doi.org/10.24432/C5ZS3N",
    citation=(
        "A. Tsanas, M. Little, P. McSharry, L. Ramig (2009). Accurate telemonitoring of "
        "Parkinson's disease progression by noninvasive speech tests. IEEE Transactions on "
        "Biomedical Engineering 57, 884-893."
    ),
)

SOURCES = {
    source.name: source
    for source in (
        CONCRETE,
        SUPERCONDUCTIVITY,
        QSAR_AQUATIC_TOXICITY,
        QSAR_FISH_TOXICITY,
        PARKINSONS,
    )
}
