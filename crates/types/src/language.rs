//! The languages of `sys.syslanguages`: order of dates, first day of the week, names of months and days.
//!
//! SET LANGUAGE chooses one; strings are read and dates written with its names. Messages stay English: only their
//! language is told (`msglangid`).

use crate::DateOrder;

/// A row of `sys.syslanguages`.
#[derive(Debug)]
pub struct LanguageData {
    /// `langid`, @@LANGID; the position in the table.
    pub id: u8,
    pub order: DateOrder,
    /// 1 is Monday.
    pub datefirst: u8,
    pub name: &'static str,
    pub alias: &'static str,
    /// Separated by commas, as the view shows them.
    months: &'static str,
    short_months: &'static str,
    /// From Monday on.
    days: &'static str,
    pub lcid: i32,
    pub msglangid: i32,
}

/// A language, by its `langid`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Language(u8);

impl Language {
    pub const US_ENGLISH: Language = Language(0);

    /// By name or alias, in any case.
    pub fn from_name(name: &str) -> Option<Language> {
        let wanted = name.to_lowercase();
        let same = |s: &str| s.to_lowercase() == wanted;
        let found = ALL.iter().find(|l| same(l.name) || same(l.alias));
        found.map(|l| Language(l.id))
    }

    pub fn all() -> impl Iterator<Item = &'static LanguageData> {
        ALL.iter()
    }

    pub fn data(self) -> &'static LanguageData {
        &ALL[usize::from(self.0) % ALL.len()]
    }

    /// The name of a month, 1 to 12.
    pub fn month(self, month: u32) -> &'static str {
        nth(self.data().months, month.wrapping_sub(1))
    }

    pub fn short_month(self, month: u32) -> &'static str {
        nth(self.data().short_months, month.wrapping_sub(1))
    }

    /// The name of a day of the week; 0 is Sunday.
    pub fn weekday(self, day: u32) -> &'static str {
        nth(self.data().days, (day + 6) % 7)
    }

    /// The month that a word names, in full or short.
    pub fn month_of(self, word: &str) -> Option<u32> {
        let word = word.to_lowercase();
        let data = self.data();
        let at = |names: &str| names.split(',').position(|n| n.to_lowercase() == word);
        let found = at(data.months).or_else(|| at(data.short_months));
        found.map(|i| i as u32 + 1)
    }
}

impl LanguageData {
    pub fn months(&self) -> &'static str {
        self.months
    }

    pub fn short_months(&self) -> &'static str {
        self.short_months
    }

    pub fn days(&self) -> &'static str {
        self.days
    }
}

fn nth(names: &'static str, i: u32) -> &'static str {
    names.split(',').nth(i as usize).unwrap_or_default()
}

const NUMBERS: &str = "01,02,03,04,05,06,07,08,09,10,11,12";
const ROMAN: &str = "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII";
const ENGLISH_SHORT: &str = "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec";
const ENGLISH: &str =
    "January,February,March,April,May,June,July,August,September,October,November,December";
const ENGLISH_DAYS: &str = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday";
const CHINESE_DAYS: &str = "星期一,星期二,星期三,星期四,星期五,星期六,星期日";

#[allow(clippy::too_many_arguments)]
const fn language(
    id: u8,
    order: DateOrder,
    datefirst: u8,
    (name, alias): (&'static str, &'static str),
    months: &'static str,
    short_months: &'static str,
    days: &'static str,
    lcid: i32,
) -> LanguageData {
    LanguageData {
        id,
        order,
        datefirst,
        name,
        alias,
        months,
        short_months,
        days,
        lcid,
        // Only these have messages of their own on a server; British reads English ones.
        msglangid: if lcid == 2057 { 1033 } else { lcid },
    }
}

use DateOrder::{Dmy, Mdy, Ymd};

#[rustfmt::skip]
const ALL: [LanguageData; 34] = [
    language(0, Mdy, 7, ("us_english", "English"), ENGLISH, ENGLISH_SHORT, ENGLISH_DAYS, 1033),
    language(1, Dmy, 1, ("Deutsch", "German"),
        "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
        "Jan,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez",
        "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag", 1031),
    language(2, Dmy, 1, ("Français", "French"),
        "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
        "janv,févr,mars,avr,mai,juin,juil,août,sept,oct,nov,déc",
        "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche", 1036),
    language(3, Ymd, 7, ("日本語", "Japanese"), NUMBERS, NUMBERS,
        "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日", 1041),
    language(4, Dmy, 1, ("Dansk", "Danish"),
        "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag", 1030),
    language(5, Dmy, 1, ("Español", "Spanish"),
        "Enero,Febrero,Marzo,Abril,Mayo,Junio,Julio,Agosto,Septiembre,Octubre,Noviembre,Diciembre",
        "Ene,Feb,Mar,Abr,May,Jun,Jul,Ago,Sep,Oct,Nov,Dic",
        "Lunes,Martes,Miércoles,Jueves,Viernes,Sábado,Domingo", 3082),
    language(6, Dmy, 1, ("Italiano", "Italian"),
        "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
        "gen,feb,mar,apr,mag,giu,lug,ago,set,ott,nov,dic",
        "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica", 1040),
    language(7, Dmy, 1, ("Nederlands", "Dutch"),
        "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december",
        "jan,feb,mrt,apr,mei,jun,jul,aug,sep,okt,nov,dec",
        "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag", 1043),
    language(8, Dmy, 1, ("Norsk", "Norwegian"),
        "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
        "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des",
        "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag", 2068),
    language(9, Dmy, 7, ("Português", "Portuguese"),
        "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro",
        "jan,fev,mar,abr,mai,jun,jul,ago,set,out,nov,dez",
        "segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo", 2070),
    language(10, Dmy, 1, ("Suomi", "Finnish"),
        "tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta",
        "tammi,helmi,maalis,huhti,touko,kesä,heinä,elo,syys,loka,marras,joulu",
        "maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai", 1035),
    language(11, Ymd, 1, ("Svenska", "Swedish"),
        "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag", 1053),
    language(12, Dmy, 1, ("čeština", "Czech"),
        "leden,únor,březen,duben,květen,červen,červenec,srpen,září,říjen,listopad,prosinec", ROMAN,
        "pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle", 1029),
    language(13, Ymd, 1, ("magyar", "Hungarian"),
        "január,február,március,április,május,június,július,augusztus,szeptember,október,november,december",
        "jan,febr,márc,ápr,máj,jún,júl,aug,szept,okt,nov,dec",
        "hétfő,kedd,szerda,csütörtök,péntek,szombat,vasárnap", 1038),
    language(14, Dmy, 1, ("polski", "Polish"),
        "styczeń,luty,marzec,kwiecień,maj,czerwiec,lipiec,sierpień,wrzesień,październik,listopad,grudzień", ROMAN,
        "poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela", 1045),
    language(15, Dmy, 1, ("română", "Romanian"),
        "ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie",
        "Ian,Feb,Mar,Apr,Mai,Iun,Iul,Aug,Sep,Oct,Nov,Dec",
        "luni,marţi,miercuri,joi,vineri,sîmbătă,duminică", 1048),
    language(16, Ymd, 1, ("hrvatski", "Croatian"),
        "siječanj,veljača,ožujak,travanj,svibanj,lipanj,srpanj,kolovoz,rujan,listopad,studeni,prosinac",
        "sij,vel,ožu,tra,svi,lip,srp,kol,ruj,lis,stu,pro",
        "ponedjeljak,utorak,srijeda,četvrtak,petak,subota,nedjelja", 1050),
    language(17, Dmy, 1, ("slovenčina", "Slovak"),
        "január,február,marec,apríl,máj,jún,júl,august,september,október,november,december", ROMAN,
        "pondelok,utorok,streda,štvrtok,piatok,sobota,nedeľa", 1051),
    language(18, Dmy, 1, ("slovenski", "Slovenian"),
        "januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,avg,sept,okt,nov,dec",
        "ponedeljek,torek,sreda,četrtek,petek,sobota,nedelja", 1060),
    language(19, Dmy, 1, ("ελληνικά", "Greek"),
        "Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μαΐου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου",
        "Ιαν,Φεβ,Μαρ,Απρ,Μαϊ,Ιουν,Ιουλ,Αυγ,Σεπ,Οκτ,Νοε,Δεκ",
        "Δευτέρα,Τρίτη,Τετάρτη,Πέμπτη,Παρασκευή,Σάββατο,Κυριακή", 1032),
    language(20, Dmy, 1, ("български", "Bulgarian"),
        "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        "понеделник,вторник,сряда,четвъртък,петък,събота,неделя", 1026),
    language(21, Dmy, 1, ("русский", "Russian"),
        "Январь,Февраль,Март,Апрель,Май,Июнь,Июль,Август,Сентябрь,Октябрь,Ноябрь,Декабрь",
        "янв,фев,мар,апр,май,июн,июл,авг,сен,окт,ноя,дек",
        "понедельник,вторник,среда,четверг,пятница,суббота,воскресенье", 1049),
    language(22, Dmy, 1, ("Türkçe", "Turkish"),
        "Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık",
        "Oca,Şub,Mar,Nis,May,Haz,Tem,Ağu,Eyl,Eki,Kas,Ara",
        "Pazartesi,Salı,Çarşamba,Perşembe,Cuma,Cumartesi,Pazar", 1055),
    language(23, Dmy, 1, ("British", "British English"), ENGLISH, ENGLISH_SHORT, ENGLISH_DAYS, 2057),
    language(24, Dmy, 1, ("eesti", "Estonian"),
        "jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember",
        "jaan,veebr,märts,apr,mai,juuni,juuli,aug,sept,okt,nov,dets",
        "esmaspäev,teisipäev,kolmapäev,neljapäev,reede,laupäev,pühapäev", 1061),
    language(25, Ymd, 1, ("latviešu", "Latvian"),
        "janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris",
        "jan,feb,mar,apr,mai,jūn,jūl,aug,sep,okt,nov,dec",
        "pirmdiena,otrdiena,trešdiena,ceturtdiena,piektdiena,sestdiena,svētdiena", 1062),
    language(26, Ymd, 1, ("lietuvių", "Lithuanian"),
        "sausis,vasaris,kovas,balandis,gegužė,birželis,liepa,rugpjūtis,rugsėjis,spalis,lapkritis,gruodis",
        "sau,vas,kov,bal,geg,bir,lie,rgp,rgs,spl,lap,grd",
        "pirmadienis,antradienis,trečiadienis,ketvirtadienis,penktadienis,šeštadienis,sekmadienis", 1063),
    language(27, Dmy, 7, ("Português (Brasil)", "Brazilian"),
        "Janeiro,Fevereiro,Março,Abril,Maio,Junho,Julho,Agosto,Setembro,Outubro,Novembro,Dezembro",
        "Jan,Fev,Mar,Abr,Mai,Jun,Jul,Ago,Set,Out,Nov,Dez",
        "Segunda-Feira,Terça-Feira,Quarta-Feira,Quinta-Feira,Sexta-Feira,Sábado,Domingo", 1046),
    language(28, Ymd, 7, ("繁體中文", "Traditional Chinese"), NUMBERS, NUMBERS, CHINESE_DAYS, 1028),
    language(29, Ymd, 7, ("한국어", "Korean"), NUMBERS, NUMBERS,
        "월요일,화요일,수요일,목요일,금요일,토요일,일요일", 1042),
    language(30, Ymd, 7, ("简体中文", "Simplified Chinese"), NUMBERS, NUMBERS, CHINESE_DAYS, 2052),
    language(31, Dmy, 1, ("Arabic", "Arabic"),
        "Muharram,Safar,Rabie I,Rabie II,Jumada I,Jumada II,Rajab,Shaaban,Ramadan,Shawwal,Thou Alqadah,Thou Alhajja",
        ENGLISH_SHORT, ENGLISH_DAYS, 1025),
    language(32, Dmy, 7, ("ไทย", "Thai"),
        "มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม",
        "ม.ค.,ก.พ.,มี.ค.,เม.ย.,พ.ค.,มิ.ย.,ก.ค.,ส.ค.,ก.ย.,ต.ค.,พ.ย.,ธ.ค.",
        "จันทร์,อังคาร,พุธ,พฤหัสบดี,ศุกร์,เสาร์,อาทิตย์", 1054),
    language(33, Dmy, 1, ("norsk (bokmål)", "Bokmål"),
        "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
        "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des",
        "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag", 1044),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_whole() {
        for (i, l) in ALL.iter().enumerate() {
            assert_eq!(usize::from(l.id), i);
            assert_eq!(l.months.split(',').count(), 12, "{}", l.alias);
            assert_eq!(l.short_months.split(',').count(), 12, "{}", l.alias);
            assert_eq!(l.days.split(',').count(), 7, "{}", l.alias);
            assert_eq!(Language::from_name(l.name), Some(Language(l.id)));
            assert_eq!(
                Language::from_name(&l.alias.to_uppercase()),
                Some(Language(l.id))
            );
        }
    }

    #[test]
    fn names_are_found_in_full_and_short() {
        let german = Language::from_name("german").unwrap_or_default();
        assert_eq!(german.month(3), "März");
        assert_eq!(german.month_of("DEZ"), Some(12));
        assert_eq!(german.month_of("December"), None);
        assert_eq!(german.weekday(0), "Sonntag");
        assert_eq!(Language::US_ENGLISH.weekday(6), "Saturday");
    }
}
