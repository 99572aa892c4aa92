"""Hourly bike rentals, simulated: a table whose three laws are known.

Axis letters: n rows.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from ..runtime.extras import extra

Array = NDArray[np.float64]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEATHER = ("clear", "cloudy", "rain")
COLUMNS = ("hour", "weekday", "weather", "temperature", "humidity", "wind")
NUMBERS = ("hour", "temperature", "humidity", "wind")
# Without its hour or its weekday, a row would not tell which law it follows.
WITH_GAPS = ("weather", "temperature", "humidity", "wind")

LAWS = ("night", "working day", "weekend")
NIGHT, WORKING_DAY, WEEKEND = range(3)
FORMULAS = (
    "night, hour before 6 or after 22:  rentals = 60 + 1.5 · temperature − 15 if rain",
    "working day, Monday to Friday:     rentals = 110 + 4 · temperature − 50 if rain\n"
    "                                   + 280 · exp(−((hour − 8) / 1.5)²)\n"
    "                                   + 320 · exp(−((hour − 17.5) / 2)²)",
    "weekend, Saturday and Sunday:      rentals = 120 + 9 · temperature − 1.5 · wind\n"
    "                                   − 60 if rain − 20 if cloudy\n"
    "                                   + 200 · exp(−((hour − 14) / 4)²)",
)

DESCR = """Hourly bike rentals of a city, simulated, so that the truth is known.

Each row is one hour of a year. hour is 0 to 23; weekday and weather (clear, cloudy, rain) are text;
temperature is in °C, humidity in %, wind in km/h. The temperature follows the season and the hour.
The humidity follows the temperature and the weather and counts in no law. The target, rentals per
hour, is the law's mean plus Gaussian noise; it is neither rounded nor cut at zero, so that the law
is its exact mean. The laws:

{}
""".format("\n".join(FORMULAS))


def law_of(hour: ArrayLike, weekday: ArrayLike) -> NDArray[np.intp]:
    """The number of each row's law, (n,): 0 night, 1 working day, 2 weekend."""
    hour = np.asarray(hour, dtype=np.float64)
    free = np.isin(np.asarray(weekday, dtype=str), WEEKDAYS[5:])
    night = (hour < 6) | (hour > 22)
    return np.where(night, NIGHT, np.where(free, WEEKEND, WORKING_DAY)).astype(np.intp)


def rentals_law(
    law: NDArray[np.intp], hour: Array, weather: NDArray, temperature: Array, wind: Array
) -> tuple[Array, Array]:
    """The mean number of rentals, (n,), and its slopes by the columns in `NUMBERS`, (n, 4).

    `law` is given rather than found from the hour: a slope belongs to one law, and the hour moves
    within it.
    """
    rain, cloudy = weather == "rain", weather == "cloudy"
    nothing = np.zeros(len(hour))
    morning, morning_slope = _peak(280, hour, 8, 1.5)
    evening, evening_slope = _peak(320, hour, 17.5, 2)
    afternoon, afternoon_slope = _peak(200, hour, 14, 4)
    means = [
        60 + 1.5 * temperature - 15 * rain,
        110 + 4 * temperature - 50 * rain + morning + evening,
        120 + 9 * temperature - 1.5 * wind - 60 * rain - 20 * cloudy + afternoon,
    ]
    slopes = {
        "hour": [nothing, morning_slope + evening_slope, afternoon_slope],
        "temperature": [nothing + 1.5, nothing + 4, nothing + 9],
        "humidity": [nothing, nothing, nothing],
        "wind": [nothing, nothing, nothing - 1.5],
    }
    columns = [np.choose(law, slopes[name]) for name in NUMBERS]
    return np.choose(law, means), np.column_stack(columns)


def _peak(height: float, hour: Array, at: float, width: float) -> tuple[Array, Array]:
    """A bell curve over the hours, and its slope."""
    bell = height * np.exp(-(((hour - at) / width) ** 2))
    return bell, -2 * (hour - at) / width**2 * bell


def make_rentals(
    n_samples: int = 1500,
    *,
    noise: float = 15.0,
    missing: float = 0.03,
    random_state: int | RandomState | None = None,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Any:
    """Hourly bike rentals, simulated: text, gaps and noise, and three laws that are known.

    At night, on working days and at weekends the rentals follow different formulas, which
    `DESCR` and `formulas` give. So an explanation of a model can be compared with the truth.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of hours.
    noise : float, default=15.0
        Standard deviation of the Gaussian noise on the target.
    missing : float, default=0.03
        Share of the cells of weather, temperature, humidity and wind that are empty, at random.
        The target comes from the values that were there.
    random_state : int, RandomState or None, default=None
        Determines the rows, the noise and the gaps.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return pandas objects. Otherwise ``data`` is an array of objects.

    Returns
    -------
    Bunch
        ``data`` (n, 6), ``target`` (n,), ``frame`` (n, 7), ``feature_names``, ``target_names``,
        ``DESCR``, and the truth:

        - ``truth`` (n,): the target without noise;
        - ``law`` (n,): the number of each row's law, from 0;
        - ``law_names``, ``formulas``: the name of each law, and its formula as text;
        - ``slopes`` (n, 4): how much ``truth`` rises per hour, °C, % and km/h, within the row's
          law; ``slope_names`` names the columns;
        - ``complete`` (n, 6): ``data`` before cells were emptied.

    Examples
    --------
    >>> from locallinear.datasets import make_rentals
    >>> rentals = make_rentals(200, random_state=0)
    >>> rentals.frame.columns.tolist()
    ['hour', 'weekday', 'weather', 'temperature', 'humidity', 'wind', 'rentals']
    >>> weekend = rentals.law == rentals.law_names.index("weekend")
    >>> rentals.slopes["temperature"][weekend].unique().tolist()
    [9.0]
    """
    _check(n_samples, noise, missing)
    rng = check_random_state(random_state)
    complete = _draw_rows(rng, n_samples)
    law = law_of(complete["hour"], complete["weekday"])
    inputs = {name: complete[name] for name in ("hour", "weather", "temperature", "wind")}
    truth, slopes = rentals_law(law, **inputs)
    target = truth + noise * rng.standard_normal(n_samples)
    data = _with_gaps(rng, complete, missing)
    table: dict[str, Any] = {"data": data, "complete": complete}
    if as_frame:
        pandas = extra("pandas", "report", "Rentals as a frame")
        for name, columns in table.items():
            table[name] = pandas.DataFrame(columns)
        target = pandas.Series(target, name="rentals")
        slopes = pandas.DataFrame(slopes, columns=list(NUMBERS))
    else:
        for name, columns in table.items():
            cells = [column.astype(object) for column in columns.values()]
            table[name] = np.column_stack(cells)
    if return_X_y:
        return table["data"], target
    return Bunch(
        **table,
        target=target,
        frame=table["data"].assign(rentals=target) if as_frame else None,
        truth=truth,
        law=law,
        law_names=list(LAWS),
        formulas=list(FORMULAS),
        slopes=slopes,
        slope_names=list(NUMBERS),
        feature_names=list(COLUMNS),
        target_names=["rentals"],
        DESCR=DESCR,
    )


def _check(n_samples: int, noise: float, missing: float) -> None:
    if not (isinstance(n_samples, Integral) and n_samples >= 1):
        raise ValueError(f"n_samples must be a whole number from 1, but is {n_samples!r}")
    if not noise >= 0:
        raise ValueError(f"noise must be a standard deviation from 0, but is {noise!r}")
    if not 0 <= missing <= 1:
        raise ValueError(f"missing must be a share from 0 to 1, but is {missing!r}")


def _draw_rows(rng: RandomState, n: int) -> dict[str, NDArray]:
    """Hours of a year, by column; values are rounded before the law sees them."""
    day = rng.randint(365, size=n)
    hour = rng.randint(24, size=n).astype(np.float64)
    weather = rng.choice(np.array(WEATHER, dtype=object), size=n, p=[0.45, 0.35, 0.2])
    season, daytime = np.cos(2 * np.pi * day / 365), np.cos(2 * np.pi * (hour - 3) / 24)
    temperature = 15 - 8 * season - 4 * daytime + 2.5 * rng.standard_normal(n)
    temperature = np.maximum(temperature, 0).round(1)
    wet = 20 * (weather == "rain") + 8 * (weather == "cloudy")
    humidity = 60 + wet - 1.2 * (temperature - 15) + 6 * rng.standard_normal(n)
    return {
        "hour": hour,
        "weekday": np.array(WEEKDAYS, dtype=object)[day % 7],
        "weather": weather,
        "temperature": temperature,
        "humidity": np.clip(humidity, 15, 100).round(),
        "wind": rng.gamma(4, 3, size=n).round(1),
    }


def _with_gaps(
    rng: RandomState, complete: dict[str, NDArray], missing: float
) -> dict[str, NDArray]:
    """The columns with some cells emptied: NaN in numbers, None in text."""
    columns = dict(complete)
    for name in WITH_GAPS:
        column = columns[name] = complete[name].copy()
        column[rng.uniform(size=len(column)) < missing] = None if name == "weather" else np.nan
    return columns
