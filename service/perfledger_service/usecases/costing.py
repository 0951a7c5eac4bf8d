"""Prices and a question in, what an hour or a piece of work costs on each way to get it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from perfledger_cost_models.age import age_warnings, shelf_of
from perfledger_cost_models.comparison import (
    Compared,
    Option,
    compare,
    tornado,
    worked_option,
    yearly_parts,
)
from perfledger_cost_models.footprint import owned_footprint
from perfledger_cost_models.interruption import (
    Interruptions,
    best_interval_h,
    daly_interval_h,
    young_interval_h,
)
from perfledger_cost_models.onprem import Server
from perfledger_cost_models.sheet import Price
from perfledger_cost_models.work import Work
from perfledger_service.cost_views import CostRow, CostView, OwningView, Rent, SpotSaves
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.offers import (
    CostQuestion,
    Offer,
    Offers,
    break_even_of,
    curves_of,
    footprint_of,
    investment_of,
    offers_of,
    owned_by,
)
from perfledger_service.usecases.price_books import Books
from perfledger_service.usecases.translating import translated

# The accelerators of P4d, P4de, P5, P5e, P5en, A2, A3, ND A100, ND H100 and TPU v4 to v6e.
FAMILIES = (
    "A100-40GB",
    "A100-80GB",
    "H100-80GB",
    "H200-141GB",
    "TPU-v4",
    "TPU-v5e",
    "TPU-v5p",
    "TPU-v6e",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """An offer, the server that it is held against, and what that server's hour costs there."""

    offer: Offer
    owner: Server | None
    as_owned: Option


def compare_costs(books: Books, question: CostQuestion) -> CostView:
    """Return what a useful hour costs on every option that is known for the accelerators.

    `use` is the share of hours that are useful: what is committed to or owned is paid for all
    hours, what is bought by the hour for the useful ones. With work, all accelerators are held
    against each other by what a piece costs; without it each by itself, for their hours are not
    alike. Raises NotFoundError for an accelerator without a price, and UsageError.
    """
    works = {work.accelerator: work for work in question.works}
    with translated():
        every = [offers_of(books, name, question) for name in question.accelerators]
        offers = [offer for each in every for offer in each.found]
        pieces = _pieces(offers, works)
        owned_piece = _owned_piece(offers, pieces)
        rows = [
            _row(books, question, cost, _held(each, offer, owned_piece, works), pieces)
            for each in every
            for cost, offer in _by_cost(each.found)
        ]
        rows = [_with_piece(row, works.get(row.cost.accelerator)) for row in rows]
        owned = next((each for each in every if each.owner is not None), None)
        curves = () if owned is None else curves_of(books, question, owned)
        saves = None if question.interruptions is None else _saves(question.interruptions)
    if works:
        by_piece = [(row.work.p50_usd, row) for row in rows if row.work is not None]
        rows = [row for _, row in sorted(by_piece, key=lambda pair: pair[0])]
    slow = [name for name in question.accelerators if works and name not in works]
    return CostView(
        accelerators=tuple(question.accelerators),
        use=question.use,
        rows=tuple(rows),
        assumed=_assumed(offers, question),
        piece=question.works[0].piece if works else "",
        works=tuple(question.works),
        unknown=(
            *(words for each in every for words in each.unknown),
            *(f"{name}: no speed was given for it" for name in slow),
        ),
        sheet=books.sheet.name,
        curves=curves,
        owner=owned.owner.label if owned is not None and owned.owner is not None else "",
        spot_saves_h=saves,
    )


def cost_of_owning(books: Books, option: str, question: CostQuestion) -> OwningView:
    """Return what owning a server costs a year and what its useful hour depends on.

    Raises NotFoundError for a server that is not known, UsageError for a use that is no share.
    """
    server = next((one for one in books.servers if one.option == option), None)
    if server is None:
        known = ", ".join(one.option for one in books.servers)
        msg = f"no server {option!r}: there are {known}"
        raise NotFoundError(msg)
    sheet, use, terms = books.parameters, question.use, question.terms
    with translated():
        (hour,) = compare([owned_by(books, server, question)])
        rents = [
            Rent(
                name=offer.name,
                price=offer.price,
                investment=worth,
                warnings=_warnings(offer.price, question.today),
            )
            for offer in offers_of(books, server.accelerator, question).found
            if offer.price is not None
            and (worth := investment_of(books, question, server, offer)) is not None
        ]
        return OwningView(
            label=server.label,
            accelerators=server.accelerators,
            use=use,
            parts=yearly_parts(server, sheet, use=use, terms=terms),
            hour=hour,
            bars=tornado(server, sheet, use=use, terms=terms),
            terms=terms,
            footprint=owned_footprint(server, sheet, use=use, grid=question.grid, terms=terms),
            rents=tuple(sorted(rents, key=lambda rent: rent.investment.npv_p50_usd, reverse=True)),
            sheet=books.sheet.name,
        )


def _pieces(offers: Sequence[Offer], works: Mapping[str, Work]) -> Mapping[str, Compared]:
    """Return what a piece of work costs, by option, over all accelerators whose speed is known."""
    known = [
        (
            replace(
                offer, option=worked_option(offer.option, work.drawn_hours, mode_hours=work.hours)
            )
        )
        for offer in offers
        if (work := works.get(offer.option.accelerator)) is not None
    ]
    return {one.name: one for one in _compared(known)}


def _compared(offers: Sequence[Offer]) -> tuple[Compared, ...]:
    """Return the offers, the cheapest median first; prices of low confidence win no draw.

    What somebody has heard of cannot be what is surely the cheapest.
    """
    trusted: list[Option] = [offer.option for offer in offers if not offer.is_doubtful]
    heard = [
        replace(one, chance_cheapest=0.0)
        for offer in offers
        if offer.is_doubtful
        for one in compare([offer.option])
    ]
    found = (*(compare(trusted) if trusted else ()), *heard)
    return tuple(sorted(found, key=lambda one: (one.p50_usd, one.name)))


def _assumed(offers: Sequence[Offer], question: CostQuestion) -> tuple[str, ...]:
    """Return what the offers and the use rest on with low confidence, in words, each once."""
    found = [words for offer in offers for words in offer.option.assumed]
    return tuple(dict.fromkeys([*found, *question.assumed]))


def _by_cost(offers: Sequence[Offer]) -> list[tuple[Compared, Offer]]:
    by_name = {offer.name: offer for offer in offers}
    return [(cost, by_name[cost.name]) for cost in _compared(offers)]


def _owned_piece(offers: Sequence[Offer], pieces: Mapping[str, Compared]) -> Server | None:
    """Return the server on which the piece of work costs least; None where there is none."""
    owned = [(pieces[offer.name].p50_usd, offer) for offer in offers if offer.name in pieces]
    servers = [(usd, offer.server) for usd, offer in owned if offer.server is not None]
    return min(servers, key=lambda pair: pair[0])[1] if servers else None


def _held(
    offers: Offers, offer: Offer, owned_piece: Server | None, works: Mapping[str, Work]
) -> _Held:
    """Return what an offer is held against: a server of its accelerator, else by the same work.

    Of an accelerator that cannot be owned, so many hours as the server's hour of work takes are
    held against that hour.
    """
    work = works.get(offers.accelerator)
    if offers.owner is not None or owned_piece is None or work is None:
        return _Held(offer=offer, owner=offers.owner, as_owned=offer.option)
    own = works[owned_piece.accelerator]
    as_owned = worked_option(
        offer.option, work.drawn_hours / own.drawn_hours, mode_hours=work.hours / own.hours
    )
    return _Held(offer=offer, owner=owned_piece, as_owned=as_owned)


def _row(
    books: Books,
    question: CostQuestion,
    cost: Compared,
    held: _Held,
    pieces: Mapping[str, Compared],
) -> CostRow:
    offer, owner = held.offer, held.owner
    against = replace(offer, option=held.as_owned)
    return CostRow(
        cost=cost,
        work=pieces.get(cost.name),
        price=offer.price,
        break_even=break_even_of(books, question, owner, against),
        investment=investment_of(books, question, owner, against),
        owner=owner.label if owner else "",
        is_held_by_work=owner is not None and owner.accelerator != cost.accelerator,
        footprint=footprint_of(books, question, offer),
        warnings=_warnings(offer.price, question.today),
    )


def _with_piece(row: CostRow, work: Work | None) -> CostRow:
    """Return the row with what the piece of work takes, where that and the draw are known."""
    if work is None or row.footprint is None:
        return row
    return replace(row, piece_footprint=row.footprint.times(work.hours))


def _saves(interruptions: Interruptions) -> SpotSaves:
    return SpotSaves(
        best_interval_h(interruptions),
        young_interval_h(interruptions),
        daly_interval_h(interruptions),
    )


def _warnings(price: Price | None, today: date) -> tuple[str, ...]:
    if price is None:
        return ()
    shelf = shelf_of(price.pricing_model)
    return age_warnings(price.as_of, today=today, shelf=shelf, is_read_date=price.is_read_date)
