//! Cultures: separators, currency, patterns of dates.
//!
//! The values are those of Windows' own tables for each culture, as .NET shows them (*assumed* to be the same on every
//! version; Windows has changed some over the years, the percent pattern of en-US among them).

use crate::{DateOrder, Language};

/// How numbers and dates are written somewhere.
#[derive(Debug)]
pub struct Culture {
    /// As .NET spells it; empty for the invariant culture.
    pub name: &'static str,
    pub decimal: &'static str,
    pub group: &'static str,
    pub currency: &'static str,
    /// `n` stands for the digits, `$` for the symbol.
    pub currency_positive: &'static str,
    pub currency_negative: &'static str,
    pub percent_positive: &'static str,
    pub percent_negative: &'static str,
    pub short_date: &'static str,
    pub long_date: &'static str,
    pub short_time: &'static str,
    pub long_time: &'static str,
    pub month_day: &'static str,
    pub year_month: &'static str,
    pub date_separator: &'static str,
    pub am: &'static str,
    pub pm: &'static str,
    language: &'static str,
    /// From Sunday on.
    short_days: &'static str,
    pub order: DateOrder,
}

impl Culture {
    /// By name, in any case.
    pub fn find(name: &str) -> Option<&'static Culture> {
        ALL.iter().find(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// The culture of a session's language, where it is known.
    pub fn of_language(language: Language) -> Option<&'static Culture> {
        ALL[1..].iter().find(|c| c.language() == language)
    }

    pub fn invariant() -> &'static Culture {
        &ALL[0]
    }

    /// Whose names of months and days it has.
    pub fn language(&self) -> Language {
        Language::from_name(self.language).unwrap_or_default()
    }

    pub fn month(&self, month: u32) -> String {
        self.cased(match self.is_east_asian() {
            true => return format!("{month}月"),
            false => self.language().month(month),
        })
    }

    pub fn short_month(&self, month: u32) -> String {
        match (self.name, self.is_east_asian()) {
            (_, true) => format!("{month}月"),
            // .NET puts a full stop behind a shortened French month; short ones stay whole.
            ("fr-FR", _) => match month {
                3 | 5 | 6 | 8 => self.month(month),
                _ => format!("{}.", self.language().short_month(month)),
            },
            ("de-DE", _) if month == 3 => "Mrz".to_owned(),
            _ => self.cased(self.language().short_month(month)),
        }
    }

    /// 0 is Sunday.
    pub fn weekday(&self, day: u32) -> String {
        self.cased(self.language().weekday(day))
    }

    pub fn short_weekday(&self, day: u32) -> String {
        let mut days = self.short_days.split(',');
        days.nth(day as usize).unwrap_or_default().to_owned()
    }

    fn is_east_asian(&self) -> bool {
        matches!(self.name, "zh-CN" | "ja-JP")
    }

    /// Spanish names are in lower case in .NET, not in `sys.syslanguages`.
    fn cased(&self, name: &str) -> String {
        match self.name {
            "es-ES" => name.to_lowercase(),
            _ => name.to_owned(),
        }
    }
}

const ENGLISH: Culture = Culture {
    name: "",
    decimal: ".",
    group: ",",
    currency: "¤",
    currency_positive: "$n",
    currency_negative: "($n)",
    percent_positive: "n %",
    percent_negative: "-n %",
    short_date: "MM/dd/yyyy",
    long_date: "dddd, dd MMMM yyyy",
    short_time: "HH:mm",
    long_time: "HH:mm:ss",
    month_day: "MMMM dd",
    year_month: "yyyy MMMM",
    date_separator: "/",
    am: "AM",
    pm: "PM",
    language: "us_english",
    short_days: "Sun,Mon,Tue,Wed,Thu,Fri,Sat",
    order: DateOrder::Mdy,
};

const EURO: Culture = Culture {
    decimal: ",",
    group: ".",
    currency: "€",
    currency_positive: "n $",
    currency_negative: "-n $",
    short_date: "dd/MM/yyyy",
    month_day: "d MMMM",
    year_month: "MMMM yyyy",
    am: "",
    pm: "",
    order: DateOrder::Dmy,
    ..ENGLISH
};

static ALL: [Culture; 9] = [
    ENGLISH,
    Culture {
        name: "en-US",
        currency: "$",
        percent_positive: "n%",
        percent_negative: "-n%",
        short_date: "M/d/yyyy",
        long_date: "dddd, MMMM d, yyyy",
        short_time: "h:mm tt",
        long_time: "h:mm:ss tt",
        month_day: "MMMM d",
        year_month: "MMMM yyyy",
        ..ENGLISH
    },
    Culture {
        name: "en-GB",
        currency: "£",
        currency_negative: "-$n",
        percent_positive: "n%",
        percent_negative: "-n%",
        short_date: "dd/MM/yyyy",
        long_date: "dd MMMM yyyy",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
        language: "British",
        order: DateOrder::Dmy,
        ..ENGLISH
    },
    Culture {
        name: "de-DE",
        short_date: "dd.MM.yyyy",
        long_date: "dddd, d. MMMM yyyy",
        month_day: "d. MMMM",
        date_separator: ".",
        language: "German",
        short_days: "So,Mo,Di,Mi,Do,Fr,Sa",
        ..EURO
    },
    Culture {
        name: "fr-FR",
        group: "\u{a0}",
        long_date: "dddd d MMMM yyyy",
        language: "French",
        short_days: "dim.,lun.,mar.,mer.,jeu.,ven.,sam.",
        ..EURO
    },
    Culture {
        name: "es-ES",
        long_date: "dddd, d 'de' MMMM 'de' yyyy",
        short_time: "H:mm",
        long_time: "H:mm:ss",
        month_day: "d 'de' MMMM",
        year_month: "MMMM 'de' yyyy",
        language: "Spanish",
        short_days: "do.,lu.,ma.,mi.,ju.,vi.,sá.",
        ..EURO
    },
    Culture {
        name: "it-IT",
        long_date: "dddd d MMMM yyyy",
        percent_positive: "n%",
        percent_negative: "-n%",
        language: "Italian",
        short_days: "dom,lun,mar,mer,gio,ven,sab",
        ..EURO
    },
    Culture {
        name: "ja-JP",
        currency: "¥",
        currency_negative: "-$n",
        percent_positive: "n%",
        percent_negative: "-n%",
        short_date: "yyyy/MM/dd",
        long_date: "yyyy'年'M'月'd'日'",
        short_time: "H:mm",
        long_time: "H:mm:ss",
        month_day: "M'月'd'日'",
        year_month: "yyyy'年'M'月'",
        am: "午前",
        pm: "午後",
        language: "Japanese",
        short_days: "日,月,火,水,木,金,土",
        order: DateOrder::Ymd,
        ..ENGLISH
    },
    Culture {
        name: "zh-CN",
        currency: "¥",
        currency_negative: "$-n",
        percent_positive: "n%",
        percent_negative: "-n%",
        short_date: "yyyy/M/d",
        long_date: "yyyy'年'M'月'd'日'",
        short_time: "H:mm",
        long_time: "H:mm:ss",
        month_day: "M'月'd'日'",
        year_month: "yyyy'年'M'月'",
        am: "上午",
        pm: "下午",
        language: "Simplified Chinese",
        short_days: "周日,周一,周二,周三,周四,周五,周六",
        order: DateOrder::Ymd,
        ..ENGLISH
    },
];
