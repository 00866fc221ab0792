//! Operation and context codes with the names `fn_dblog` prints.

macro_rules! codes {
    ($(#[$doc:meta])* $type:ident, $prefix:literal, { $($name:ident = $code:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub u8);

        impl $type {
            $(pub const $name: $type = $type($code);)*

            /// Every code that has a name.
            pub const ALL: &[$type] = &[$($type::$name),*];

            /// The name with its prefix, or `None` for a code nobody has named.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $($type::$name => Some(concat!($prefix, stringify!($name))),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}UNKNOWN_{:02X}", $prefix, self.0),
                }
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

codes! {
    /// The operation of a log record. A newtype, not an enum: files hold codes that have no public name.
    Lop, "LOP_", {
        NULL = 0x00;
        FORMAT_PAGE = 0x01;
        INSERT_ROWS = 0x02;
        DELETE_ROWS = 0x03;
        MODIFY_ROW = 0x04;
        MODIFY_HEADER = 0x05;
        MODIFY_COLUMNS = 0x06;
        SET_BITS = 0x07;
        SET_MASK_BITS = 0x08;
        DELTA_SYSIND = 0x09;
        SET_FREE_SPACE = 0x0A;
        DELETE_SPLIT = 0x0B;
        UNDO_DELETE_SPLIT = 0x0C;
        EXPUNGE_ROWS = 0x0D;
        FILE_HDR_MODIFY = 0x10;
        CLEAR_GAM_BITS = 0x11;
        COUNT_DELTA = 0x12;
        ROOT_CHANGE = 0x13;
        COMPRESSION_INFO = 0x14;
        ENCRYPT_PAGE = 0x15;
        INSYSXACT = 0x16;
        REMOVE_VERSION_INFO = 0x7E;
        BEGIN_XACT = 0x80;
        COMMIT_XACT = 0x81;
        ABORT_XACT = 0x82;
        PREP_XACT = 0x83;
        MARK_SAVEPOINT = 0x84;
        FORGET_XACT = 0x85;
        CREATE_FILE = 0x86;
        DROP_FILE = 0x87;
        MARK_DDL = 0x88;
        HOBT_DDL = 0x89;
        IDENT_NEWVAL = 0x8A;
        IDENT_SENTVAL = 0x8B;
        HOBT_DELTA = 0x8C;
        LOCK_XACT = 0x8D;
        MIGRATE_LOCKS = 0x8F;
        BP_DBVER = 0x94;
        COPY_VERSION_INFO = 0x95;
        BEGIN_CKPT = 0x96;
        XACT_CKPT = 0x98;
        END_CKPT = 0x99;
        BUF_WRITE = 0x9A;
        IDENTITY_TYPE = 0x9B;
        BEGIN_RECOVERY = 0xA0;
        END_RECOVERY = 0xA1;
        TENANT_LOG = 0xA2;
        FEDTM_INFO = 0xA6;
        CREATE_INDEX = 0xAD;
        DROP_INDEX = 0xAE;
        CREATE_ALLOCCHAIN = 0xB0;
        REPL_COMMAND = 0xC8;
        BEGIN_UPDATE = 0xC9;
        END_UPDATE = 0xCA;
        TEXT_POINTER = 0xCB;
        TEXT_INFO_BEGIN = 0xCC;
        TEXT_INFO_END = 0xCD;
        REPL_NOOP = 0xCE;
        TEXT_VALUE = 0xCF;
        SHRINK_NOOP = 0xD3;
        FILESTREAM_INFO_BEGIN = 0xD4;
        FILESTREAM_INFO_END = 0xD5;
        BULK_EXT_ALLOCATION = 0xD6;
        SECURITY_OP = 0xD7;
        PAGE_REENCRYPT = 0xD8;
        CREATE_PHYSICAL_FILE = 0xD9;
        RANGE_INSERT = 0xDC;
        INVALIDATE_CACHE = 0xDD;
        CSI_ROWGROUP = 0xDF;
        HK = 0xE6;
        HK_CHECKPOINT = 0xE7;
        HK_CHAINED = 0xE8;
        SEREPL_MSG = 0xF0;
    }
}

codes! {
    /// The context of a log record: what kind of page or structure the operation touched.
    Lcx, "LCX_", {
        NULL = 0x00;
        HEAP = 0x01;
        CLUSTERED = 0x02;
        INDEX_LEAF = 0x03;
        INDEX_INTERIOR = 0x04;
        TEXT_MIX = 0x05;
        TEXT_TREE = 0x06;
        DIAGNOSTICS = 0x07;
        GAM = 0x08;
        SGAM = 0x09;
        IAM = 0x0A;
        PFS = 0x0B;
        IDENTITY_VALUE = 0x0C;
        OBJECT_ID = 0x0D;
        NONSYS_SPLIT = 0x0E;
        FILE_HEADER = 0x11;
        SCHEMA_VERSION = 0x12;
        MARK_AS_GHOST = 0x13;
        BOOT_PAGE = 0x14;
        SYSCONFIG_PAGE = 0x15;
        CTR_ABORTED = 0x16;
        BOOT_PAGE_CKPT = 0x17;
        DIFF_MAP = 0x18;
        ML_MAP = 0x19;
        REMOVE_VERSION_INFO = 0x1A;
        DBCC_FORMATTED = 0x1B;
        UNLINKED_REORG_PAGE = 0x1C;
        BULK_OPERATION_PAGE = 0x1D;
        TRACKED_XDES = 0x1E;
        ENCRYPT_UNALLOC_PAGE = 0x1F;
        SORT_PAGE = 0x20;
        WORK_FILE_PAGE = 0x21;
        RESTORE_BAD_UNALLOC_PAGE = 0x22;
        OFF_ROW_PVS = 0x23;
        CTR_XACT_CLEANUP = 0x24;
        TRY_TRANSITION_TO_NON_CTR = 0x25;
        CTR_NEST_ABORTED = 0x26;
        CTR_LOG_HOLDUP = 0x27;
        LEDGER_TRANSACTIONS = 0x28;
    }
}

impl Lop {
    /// Length of the fixed part that records of this operation have since 2012; 24 (the bare header) when unknown.
    pub fn fixed_length(self) -> u16 {
        match self {
            Lop::INSERT_ROWS
            | Lop::DELETE_ROWS
            | Lop::MODIFY_ROW
            | Lop::MODIFY_COLUMNS
            | Lop::MODIFY_HEADER
            | Lop::EXPUNGE_ROWS
            | Lop::FILE_HDR_MODIFY => super::ROW_FIXED,
            Lop::FORMAT_PAGE | Lop::COMMIT_XACT | Lop::ABORT_XACT => 80,
            Lop::SET_BITS => 54,
            Lop::SET_FREE_SPACE => 52,
            Lop::DELETE_SPLIT => 60,
            Lop::BEGIN_XACT => 76,
            Lop::HOBT_DELTA | Lop::PREP_XACT => 64,
            Lop::COUNT_DELTA => 208,
            Lop::ROOT_CHANGE | Lop::BEGIN_CKPT => 96,
            Lop::END_CKPT => 136,
            Lop::IDENT_NEWVAL | Lop::IDENT_SENTVAL => 32,
            Lop::HOBT_DDL => 36,
            Lop::CREATE_ALLOCCHAIN => 40,
            Lop::MIGRATE_LOCKS => 30,
            Lop::INSYSXACT => 50,
            _ => super::HEADER_BYTES as u16,
        }
    }

    /// Whether records of this operation are about a page.
    pub fn is_of_page(self) -> bool {
        self == Lop::BULK_EXT_ALLOCATION
            || self.0 <= Lop::ENCRYPT_PAGE.0 && self != Lop::NULL && self != Lop::COUNT_DELTA
    }

    /// Whether records of this operation end with their fixed part: no element count at all.
    pub fn is_bare(self) -> bool {
        matches!(
            self,
            Lop::HOBT_DELTA | Lop::COUNT_DELTA | Lop::ROOT_CHANGE | Lop::BEGIN_CKPT | Lop::END_CKPT
        )
    }
}
