"""What is shown of prices, costs and projections."""

from dataclasses import dataclass

from perfledger_cost_models.comparison import Bar, BreakEven, Compared
from perfledger_cost_models.descriptor import Descriptor
from perfledger_cost_models.footprint import Footprint
from perfledger_cost_models.investment import Investment
from perfledger_cost_models.onprem import Ownership
from perfledger_cost_models.policy import PolicyRuling
from perfledger_cost_models.price_check import SheetCheck
from perfledger_cost_models.projection import NotProjected, ProjectedCost, Projection
from perfledger_cost_models.quote import Layer, PricedChanges
from perfledger_cost_models.sheet import Price
from perfledger_cost_models.sheet_diff import SheetDiff
from perfledger_cost_models.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceUpdate:
    """The sheet that a file would become with newly read prices, and what that changes."""

    check: SheetCheck
    diff: SheetDiff  # of what counts: the packaged sheet under the file, before and after
    left_out: tuple[tuple[str, int], ...]  # offers that are no prices of ours, by reason
    text: str  # of the sheet, without what is rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What a useful hour costs on one option, beside what owning would have to be used for."""

    cost: Compared  # of one useful accelerator-hour
    work: Compared | None  # of one piece of work; None where none was asked for
    price: Price | None  # None where it is owned
    break_even: BreakEven | None  # the use from which owning is cheaper; None if nothing is owned
    investment: Investment | None  # owning in place of it; None for what is owned
    footprint: Footprint | None  # of a useful hour; None where the draw is not known
    piece_footprint: Footprint | None = None  # of the piece of work; None where there is none
    owner: str = ""  # the server that owning is about, "" where nothing is owned
    is_held_by_work: bool = False  # the server is of another accelerator: the work is the same
    warnings: tuple[str, ...] = ()

    @property
    def layer(self) -> Layer:
        """Return where the price comes from; what owning costs is worked out."""
        return Layer.DERIVED if self.price is None else self.price.layer

    @property
    def is_doubtful(self) -> bool:
        """Whether the price is of low confidence; such a row is in no chance of being cheapest."""
        return self.price is not None and not self.price.is_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What a useful hour costs at each use, one option."""

    name: str
    is_owned: bool
    points: tuple[tuple[float, float, float, float], ...]  # use; USD: low, middle, high


@dataclass(frozen=True, slots=True)
class SpotSaves:
    """How many hours of work to do between saves: the best, and what two known formulas say."""

    best_h: float
    young_h: float
    daly_h: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostView:
    """What a useful hour, or a piece of work, costs on all options, the cheapest first."""

    accelerators: tuple[str, ...]
    use: float  # the share of the hours paid for that are useful
    rows: tuple[CostRow, ...]  # accelerator by accelerator where there is no work to compare by
    assumed: tuple[str, ...]  # low-confidence inputs, in words
    piece: str = ""  # of work, such as "a million tokens"; "" for the hour alone
    works: tuple[Work, ...] = ()
    unknown: tuple[str, ...] = ()  # what was asked for and has no price or no speed, in words
    sheet: str = ""  # the name of the prices
    curves: tuple[Curve, ...] = ()  # of the first accelerator that could be owned
    owner: str = ""  # the server that the break-even is of
    spot_saves_h: SpotSaves | None = None  # None where interruptions are not known


@dataclass(frozen=True, slots=True)
class PricedView:
    """What changes cost a year, and what the policies say of it."""

    priced: PricedChanges
    rulings: tuple[PolicyRuling, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rent:
    """A way to rent, and what owning is worth in place of it."""

    name: str
    price: Price
    investment: Investment
    warnings: tuple[str, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether the price is of low confidence."""
        return not self.price.is_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class OwningView:
    """What owning a server costs a year, part by part, and what moves its useful hour most."""

    label: str
    accelerators: int
    use: float
    parts: tuple[tuple[str, float, float, float], ...]  # name, USD a year: P5, most likely, P95
    hour: Compared
    bars: tuple[Bar, ...]
    terms: Ownership
    footprint: Footprint
    rents: tuple[Rent, ...]  # the one that owning is worth most in place of first
    sheet: str = ""  # the name of the prices


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedRow:
    """A device not measured: how fast a workload is projected to be there, and what that costs."""

    device: str  # as on the price sheet, else as in the table of devices
    projection: Projection | NotProjected
    costs: tuple[ProjectedCost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionView:
    """A workload on the device it runs on, and projected onto others."""

    descriptor: Descriptor
    source: str
    units_per_second: tuple[float, float, float] | None  # of one source device; None: not known
    is_measured: bool  # there; else it was declared
    rows: tuple[ProjectedRow, ...]
    published: int  # ratios that the intervals are calibrated on
