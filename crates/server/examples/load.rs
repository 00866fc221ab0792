//! The load of `cargo xtask bench`'s wire figures: clients that send one request, wait for its reply, and send the next.
//!
//! `load PORT PASSWORD KIND CLIENTS SECONDS [TEXT MODULUS [TRACE]]` prints `requests|microseconds|fewest|most`, the last two
//! of one client. KIND is `setup`, `empty` (a batch without text), `point` (a prepared SELECT by key), `commit` (a prepared
//! INSERT that commits by itself), `batch`: TEXT, in which `{n}` is the client's number modulo MODULUS, or `keyed`: TEXT
//! prepared, whose `@p` is a key of 1 to MODULUS, another one every time. Requests are built once; of a reply no more is
//! read than where it ends and whether it failed.
//!
//! TRACE names a file for the single requests: when the first began (microseconds since 1970, 8 bytes), then for each when
//! it ended after that and how long it took (microseconds, 4 bytes each), all little-endian.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use duramen_os::time::{self, Instant};
use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::Client;
use duramen_tds::packet::{HEADER_BYTES, PacketType, STATUS_EOM, to_packets};
use duramen_tds::request::{AllHeaders, Batch};
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::Token;
use duramen_types::{SqlType, Value};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Rows of the table that `point` reads.
const ROWS: u32 = 100_000;

const SETUP: [&str; 3] = [
    "CREATE DATABASE wire ON (NAME = wire, FILENAME = 'D:\\wire.mdf', SIZE = 256MB, FILEGROWTH = 256MB) \
     LOG ON (NAME = wire_log, FILENAME = 'D:\\wire_log.ldf', SIZE = 512MB, FILEGROWTH = 256MB)",
    "USE wire; CREATE TABLE point (id int NOT NULL PRIMARY KEY, word varchar(50) NOT NULL); \
     CREATE TABLE hit (id bigint IDENTITY PRIMARY KEY, client int NOT NULL)",
    "USE wire; SET NOCOUNT ON; DECLARE @i int = 1; BEGIN TRAN; WHILE @i <= 100000 BEGIN \
     INSERT point VALUES (@i, 'a word'); SET @i += 1 END; COMMIT",
];

struct Arguments {
    port: u16,
    password: String,
    kind: String,
    clients: usize,
    seconds: f64,
    text: String,
    modulus: u32,
    trace: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1);
    Some(Arguments {
        port: words.next()?.parse().ok()?,
        password: words.next()?,
        kind: words.next()?,
        clients: words.next()?.parse().ok()?,
        seconds: words.next()?.parse().ok()?,
        text: words.next().unwrap_or_default(),
        modulus: words.next().and_then(|w| w.parse().ok()).unwrap_or(1),
        trace: words.next(),
    })
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!(
            "usage: load PORT PASSWORD setup|empty|point|commit|batch|keyed CLIENTS SECONDS [TEXT MODULUS [TRACE]]"
        );
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn log_in(arguments: &Arguments) -> Result<Client<Stream>, Failure> {
    let database = match arguments.kind.as_str() {
        "setup" | "batch" | "keyed" => "",
        _ => "wire",
    };
    Ok(connect(&ConnectOptions {
        host: "127.0.0.1".into(),
        port: arguments.port,
        user: "sa".into(),
        password: arguments.password.clone(),
        database: database.into(),
        trust: Trust::NoEncryption,
        ..ConnectOptions::default()
    })?)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.kind == "setup" {
        let mut client = log_in(arguments)?;
        for sql in SETUP {
            client.query(sql)?;
            last_value(&mut client)?;
        }
        return Ok(());
    }
    let mut clients = Vec::new();
    for number in 0..arguments.clients {
        clients.push(Caller::new(arguments, number as u32)?);
    }
    let limit = Duration::from_secs_f64(arguments.seconds);
    let wall = time::wall().unix_nanos() / 1000;
    let began = time::now();
    let done = match clients.len() {
        1 => vec![clients.remove(0).alone(began, limit)?],
        _ => together(clients, began, limit)?,
    };
    let micros = began.elapsed().as_micros();
    if let Some(file) = &arguments.trace {
        write_trace(file, wall, &done)?;
    }
    let counts: Vec<u64> = done.iter().map(|d| d.count).collect();
    let (sum, fewest, most) = (
        counts.iter().sum::<u64>(),
        counts.iter().min().copied().unwrap_or(0),
        counts.iter().max().copied().unwrap_or(0),
    );
    println!("{sum}|{micros}|{fewest}|{most}");
    Ok(())
}

fn write_trace(file: &str, wall: i128, done: &[Done]) -> Result<(), Failure> {
    let mut bytes = u64::try_from(wall)?.to_le_bytes().to_vec();
    for (end, took) in done.iter().flat_map(|d| &d.trace) {
        bytes.extend_from_slice(&end.to_le_bytes());
        bytes.extend_from_slice(&took.to_le_bytes());
    }
    let env = duramen_os::Env::real();
    let options = duramen_os::OpenOptions {
        create: true,
        ..duramen_os::OpenOptions::default()
    };
    let file = env.disk.open(std::path::Path::new(file), &options)?;
    file.set_len(0)?;
    file.write_at(&bytes, 0)?;
    Ok(())
}

/// Reads a reply; the last output value of it.
fn last_value(client: &mut Client<Stream>) -> Result<Option<Value>, Failure> {
    let (mut last, mut error) = (None, None);
    while let Some(token) = client.next_event()? {
        match token {
            Token::ReturnValue { value, .. } => last = Some(value),
            Token::Error(message) => error = error.or(Some(message.text)),
            _ => {}
        }
    }
    match error {
        None => Ok(last),
        Some(text) => Err(text.into()),
    }
}

/// What a client has got.
struct Done {
    count: u64,
    tracing: bool,
    /// End after the beginning of all, and duration, in microseconds.
    trace: Vec<(u32, u32)>,
}

impl Done {
    fn note(&mut self, sent: Instant, began: Instant) {
        self.count += 1;
        if self.tracing {
            let end = began.elapsed().as_micros() as u32;
            self.trace.push((end, sent.elapsed().as_micros() as u32));
        }
    }
}

/// A client with its request.
struct Caller {
    socket: TcpStream,
    request: Vec<u8>,
    /// Where the request's last four bytes, the parameter, change from call to call.
    keyed: bool,
    key: u32,
    /// Keys are less than this.
    keys: u32,
    tracing: bool,
    /// Keeps the connection.
    _client: Client<Stream>,
}

impl Caller {
    fn new(arguments: &Arguments, number: u32) -> Result<Caller, Failure> {
        let mut client = log_in(arguments)?;
        let sql = match arguments.kind.as_str() {
            "point" => Some("SELECT word FROM point WHERE id = @p"),
            "commit" => Some("INSERT hit (client) VALUES (@p)"),
            "keyed" => Some(arguments.text.as_str()),
            _ => None,
        };
        let own = (number % arguments.modulus.max(1)).to_string();
        let text = arguments.text.replace("{n}", &own);
        let (kind, body) = match sql {
            None => (
                PacketType::SqlBatch,
                Batch::build(&text, AllHeaders::default()),
            ),
            Some(sql) => {
                let text = SqlType::nvarchar(4000);
                let prepare = CallBuilder::new(client.headers())
                    .procedure(ProcId::Prepare)
                    .parameter("", true, &SqlType::INT, &Value::Null)?
                    .parameter("", false, &text, &Value::nvarchar("@p int"))?
                    .parameter("", false, &text, &Value::nvarchar(sql))?
                    .finish();
                client.send(PacketType::Rpc, &prepare)?;
                let handle = last_value(&mut client)?.ok_or("no handle")?;
                let execute = CallBuilder::new(client.headers())
                    .procedure(ProcId::Execute)
                    .parameter("", false, &SqlType::INT, &handle)?
                    .parameter("", false, &SqlType::INT, &Value::Int(number as i32))?
                    .finish();
                (PacketType::Rpc, execute)
            }
        };
        Ok(Caller {
            socket: client.stream().socket().try_clone()?,
            request: to_packets(kind, &body, 4096, 0, 0),
            keyed: matches!(arguments.kind.as_str(), "point" | "keyed"),
            key: number.wrapping_mul(0x9E37_79B9),
            keys: match arguments.kind.as_str() {
                "keyed" => arguments.modulus.max(1),
                _ => ROWS,
            },
            tracing: arguments.trace.is_some(),
            _client: client,
        })
    }

    /// The bytes of the next request.
    fn next(&mut self) -> &[u8] {
        if self.keyed {
            // Far from the one before; the upper bits are the random ones.
            self.key = self.key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = ((u64::from(self.key) * u64::from(self.keys)) >> 32) as u32;
            let at = self.request.len() - 4;
            self.request[at..].copy_from_slice(&(key + 1).to_le_bytes());
        }
        &self.request
    }

    fn done(&self) -> Done {
        Done {
            count: 0,
            tracing: self.tracing,
            trace: Vec::new(),
        }
    }

    fn alone(mut self, began: Instant, limit: Duration) -> Result<Done, Failure> {
        let mut socket = self.socket.try_clone()?;
        let mut buffer = Vec::new();
        let mut piece = vec![0; 16 * 1024];
        let mut done = self.done();
        while began.elapsed() < limit {
            let sent = time::now();
            socket.write_all(self.next())?;
            buffer.clear();
            while !whole(&buffer)? {
                let n = socket.read(&mut piece)?;
                if n == 0 {
                    return Err("the server hung up".into());
                }
                buffer.extend_from_slice(&piece[..n]);
            }
            done.note(sent, began);
        }
        Ok(done)
    }
}

/// All clients on one thread, each with one request on its way, as pgbench has them.
fn together(clients: Vec<Caller>, began: Instant, limit: Duration) -> Result<Vec<Done>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async move {
        let mut tasks = Vec::new();
        for client in clients {
            tasks.push(tokio::spawn(one_of_many(client, began, limit)));
        }
        let mut done = Vec::new();
        for task in tasks {
            done.push(task.await??);
        }
        Ok(done)
    })
}

async fn one_of_many(mut caller: Caller, began: Instant, limit: Duration) -> Result<Done, Failure> {
    let socket = caller.socket.try_clone()?;
    socket.set_nonblocking(true)?;
    let socket = tokio::net::TcpStream::from_std(socket)?;
    let mut buffer = Vec::new();
    let mut piece = vec![0; 4096];
    let mut done = caller.done();
    while began.elapsed() < limit {
        let sent = time::now();
        socket.writable().await?;
        if socket.try_write(caller.next())? != caller.request.len() {
            return Err("a request did not leave at once".into());
        }
        buffer.clear();
        while !whole(&buffer)? {
            socket.readable().await?;
            match socket.try_read(&mut piece) {
                Ok(0) => return Err("the server hung up".into()),
                Ok(n) => buffer.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        done.note(sent, began);
    }
    Ok(done)
}

/// Whether a whole reply is there; an error when it tells of one.
fn whole(buffer: &[u8]) -> Result<bool, Failure> {
    const DONE_BYTES: usize = 13;
    let mut at = 0;
    while let Some(header) = buffer.get(at..at + HEADER_BYTES) {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let end = at + length;
        if buffer.len() < end || length < HEADER_BYTES {
            return Ok(false);
        }
        if header[1] & STATUS_EOM != 0 {
            // The last token is a DONE; bit 2 of its status says that something failed.
            return match end
                .checked_sub(DONE_BYTES - 1)
                .map(|status| buffer[status] & 2)
            {
                Some(0) => Ok(true),
                _ => Err("a request failed".into()),
            };
        }
        at = end;
    }
    Ok(false)
}
