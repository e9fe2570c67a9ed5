/**
 * One spelling of all that a database may take for the same name: many compare without regard to case, accents, strokes
 * and characters that are not shown. It may also be that of some other names.
 */
import { domainToUnicode } from "node:url";
import { lazy, lazyPattern } from "./later.ts";

/** Of a name, more is not compared: to sort the marks of a letter takes the square of their number. */
const LONGEST = 1_000;

/** Folds a name, or the address of a mail, whose domain may be in Unicode or in Punycode. */
export function foldName(name: string): string {
  const plain = withUnicodeDomain(name.slice(0, LONGEST)).normalize("NFKD").toUpperCase().normalize("NFKD");
  const folded = Array.from(plain, (character) => foldCharacter(character)).join("");
  // "ß" is "s" in some collations and "ss" in others.
  return folded.replace(/S+/g, "S");
}

function withUnicodeDomain(name: string): string {
  const at = name.lastIndexOf("@") + 1;
  const domain = name.slice(at);
  return at === 0 ? name : name.slice(0, at) + (domainToUnicode(domain) || domain);
}

/** Spaces, marks, and characters that are not shown. */
const ignored = lazyPattern(String.raw`[\s\p{M}\p{Cc}\p{Cf}\p{DI}]`, "u");

const digit = lazyPattern(String.raw`\p{Nd}`, "u");

function foldCharacter(character: string): string {
  const same = sameCharacters().get(character);
  if (same !== undefined) return same;
  if (ignored().test(character)) return "";
  const code = character.codePointAt(0)!;
  if (digit().test(character)) {
    // Those of a script follow each other from 0 on.
    let below = 0;
    while (digit().test(String.fromCodePoint(code - below - 1))) below++;
    return String(below % 10);
  }
  // Older collations of MySQL take all of the others for one.
  return code > 0xffff ? "\ufffd" : character;
}

/**
 * Characters that databases take for others, besides those that Unicode decomposes: by the weights of the collations
 * `utf8mb4_general_ci`, `_unicode_ci`, `_unicode_520_ci` and `_uca1400_ai_ci` of MariaDB. A test compares all of them.
 * Each group is what stands for all of them, a space, and the characters.
 */
const SAME_CHARACTERS: string =
  " \u00b7Ι\u0621\u0640\u0674\u06de\u06fd\u07fa\u0824\u0828\u0883\u0887᠊᳓ᳲᳳ\ufe73,0 ౸༳៰⓿〇𐆊𖺀𝋠🄋🄌,1 ৴౹౼" +
  "༪፩៱᧚⓵❶➀➊〡𐄇𐅂𐅘𐅙𐅚𐋡𐌠𐏑\u{10858}\u{10879}\u{108a7}\u{108fb}\u{10916}\u{109c0}\u{10a40}\u{10a7d}" +
  "\u{10a9d}\u{10aeb}\u{10b58}\u{10b78}\u{10ba9}\u{10cfa}\u{10e60}\u{10f1d}\u{10f51}\u{10fc5}𑁒𑇡𑱚𒐕𒐞𒐬" +
  "𒐴𒑏𒑘𖺁𖺔𝋡𝍠𝍲𝍷\u{1e8c7}\u{1ec71}\u{1eca3}\u{1ecb1}\u{1ed01},10 ⓾❿➉➓㉈,11 ⓫,12 ⓬,120P 🆤,13 ⓭,14 ⓮,1" +
  "5 ⓯,16 ⓰,17 ⓱,18 ⓲,19 ⓳,2 ৵౺౽༫፪៲⓶❷➁➋〢𐄈𐅛𐅜𐅝𐅞𐋢𐏒\u{10859}\u{1087a}\u{108a8}\u{1091a}\u{109c1}" +
  "\u{10a41}\u{10b59}\u{10b79}\u{10baa}\u{10e61}\u{10f1e}\u{10fc6}𑁓𑇢𑱛𒐀𒐖𒐟𒐣𒐭𒐵𒑊𒑐𒑖𒑙𖺂𖺕𝋢𝍡𝍳" +
  "\u{1e8c8}\u{1ec72}\u{1eca4}\u{1ecb2}\u{1ed02}\u{1ed2f},20 ⓴㉉,22.2 🆢,2K 🆝,2NDSCR 🆜,3 ৶౻౾༬፫៳⓷❸➂➌〣𐄉𐋣" +
  "\u{1085a}\u{1087b}\u{108a9}\u{1091b}\u{109c2}\u{10a42}\u{10b5a}\u{10b7a}\u{10bab}\u{10e62}\u{10f1f}" +
  "\u{10fc7}𑁔𑇣𑱜𒐁𒐈𒐗𒐠𒐤𒐥𒐮𒐯𒐶𒐷𒐺𒐻𒑋𒑑𒑗𖺃𖺖𝋣𝍢𝍴\u{1e8c9}\u{1ec73}\u{1eca5}\u{1ed03}\u{1ed30},3" +
  "0 ㉊,3D 🆛,4 ৷༭፬៴⓸❹➃➍〤𐄊𐋤\u{1087c}\u{108aa}\u{108ab}\u{109c3}\u{10a43}\u{10b5b}\u{10b7b}\u{10bac}" +
  "\u{10e63}\u{10f20}\u{10fc8}𑁕𑇤𑱝𒐂𒐉𒐏𒐘𒐡𒐦𒐰𒐸𒐼𒐽𒐾𒐿𒑌𒑒𒑓𒑩𖺄𝋤𝍣𝍵\u{1e8ca}\u{1ec74}\u{1eca6}" +
  "\u{1ed04}\u{1ed31},40 ㉋,4K 🆞,5 ༮፭៵⓹❺➄➎〥𐄋𐅃𐅈𐅏𐅟𐅳𐋥𐌡\u{1087d}\u{108ac}\u{108fc}\u{109c4}\u{10aec}" +
  "\u{10cfb}\u{10e64}\u{10f21}𑁖𑇥𑱞𒐃𒐊𒐐𒐙𒐢𒐧𒐱𒐹𒑍𒑔𒑕𒑪𖺅𝋥𝍤𝍶𝍸\u{1e8cb}\u{1ec75}\u{1eca7}" +
  "\u{1ed05}\u{1ed32},5.1 🆠,50 ㉌,6 ༯፮៶ↅ⓺❻➅➏〦𐄌𐋦\u{109c5}\u{10e65}𑁗𑇦𑱟𒐄𒐋𒐑𒐚𒐨𒑀𒑎𒑫𖺆𝋦𝍥\u{1e8cc}" +
  "\u{1ec76}\u{1eca8}\u{1ed06}\u{1ed33},60 ㉍,60P 🆣,7 ༰፯៷⓻❼➆➐〧𐄍𐋧\u{109c6}\u{10e66}𑁘𑇧𑱠𒐅𒐌𒐒𒐛𒐩𒑁𒑂" +
  "𒑃𒑬𖺇𝋧𝍦\u{1e8cd}\u{1ec77}\u{1eca9}\u{1ed07}\u{1ed34},7.1 🆡,70 ㉎,8 ༱፰៸⓼❽➇➑〨𐄎𐋨\u{109c7}\u{10e67}𑁙" +
  "𑇨𑱡𒐆𒐍𒐓𒐜𒐪𒑄𒑅𒑭𖺈𝋨𝍧\u{1e8ce}\u{1ec78}\u{1ecaa}\u{1ed08}\u{1ed35},80 ㉏,8K 🆟,9 ༲፱៹⓽❾➈➒〩𐄏𐋩" +
  "\u{109c8}\u{10e68}𑁚𑇩𑱢𒐇𒐎𒐔𒐝𒐫𒑆𒑇𒑈𒑉𒑮𖺉𝋩𝍨\u{1e8cf}\u{1ec79}\u{1ecab}\u{1ed09}\u{1ed36},A " +
  "\u0363\u1dd3\u1df2ꞚꟀ🅐🅰,A/S ⅍,AA Ꜳ\u{10780},AB 🆎,AE Æ\u1dd4,AO \u1dd5Ꜵ,AU Ꜷ,AV \u1dd6ꜸꜺ,AY Ꜽ,B " +
  "\u1de8🅑🅱,C \u0368\u1dd7🅒🅲,CL 🆑,COOL 🆒,D ÐĐ\u0369\u1dd8\u1dd9Ꝺ🅓🅳🆥,DB ȸ,DZ ʣ,E \u0364🅔🅴,F " +
  "\u1debꝻ🅕🅵,FREE 🆓,G \u1acc\u1ddaꝽꞠ🅖🅶,H Ħ\u036a🅗🅷,HC 🆦,HDR 🆧,HIRES 🆨,I \u0365🅘🅸,IC 🆋,ID 🆔," +
  "J 🅙🅹,K \u1ddcꞢ🅚🅺,L Ł\u1ddd🅛🅻,LL Ỻ,LOSLES 🆩,LS ʪ,LZ ʫ,M \u036b🅜🅼,N \u1de0Ꞥ🅝🅽,NEW 🆕,NG 🆖,O " +
  "Ø\u0366\u1ded\u1df3Ꞝ🅞🅾,OE Œ,OK 🆗,OO Ꝏ,P \u1dee🅟🅿🆊,PA 🆌,Q 🅠🆀,QP ȹ,R \u036c\u1acd\u1dca\u1de3ꝚꞂ" +
  "Ꞧ🅡🆁,S \u1de4\u1de5ẞꞄꞨꟘ🅢🆂,SA 🆍,SHV 🆪,SOS 🆘,T \u036d\u1aceꞆ🅣🆃,TH ᵺ,TS ƾʦ,TZ Ꜩ,U \u0367\u1df0" +
  "\u1df4Ꞟ🅤🆄,UHD 🆫,UP! 🆙,V \u036e🅥🆅,VOD 🆬,VS 🆚,VY Ꝡ,W \u1abf\u1df1Ꟃ🅦🆆,WC 🆏,X \u036f🅧🆇,Y 🅨🆈" +
  ",Z \u1de6🅩🆉,ZW ƍ,DƷ ʤ,Dʐ ꭦ,Dʑ ʥ,Dᶚ 𝼙,FŊ ʩ𝼀,TƩ ʧ,Tɕ ʨ,Tᶋ 𝼗,Tᶘ 𝼜,TꟅ ꭧ,Ə \u1dea,Ʀ \u1de2,Ʃ \u1def,ɢ" +
  " \u1ddb,ɴ \u1de1,ʍ \u1ac0,ʟ \u1dde,ΚΑ Ϗ,Є \ua674,І \ua676,А \u2df6,Б \u2de0,В \u2de1,Г Ґ\u2de2,Д " +
  "\u2de3,Е \u2df7,Ж \u2de4,З \u2de5,И \ua675,К \u2de6,Л \u2de7,М \u2de8,Н \u2de9,О \u2deaꙨꙪꙬꙮꚘꚚ,П \u2deb" +
  ",Р \u2dec,С \u2ded,СТ \u2df5,Т \u2dee,У \ua677,Ф \ua69e,Х \u2def,Ц \u2df0,Ч \u2df1,Ш \u2df2,Щ \u2df3,Ъ" +
  " \ua678,Ы \ua679,Ь \ua67a,Ю \u2dfb,Ѡ \ua67b,Ѣ \u2dfa,Ѥ \ua69f,Ѧ \u2dfd,Ѫ \u2dfe,Ѭ \u2dff,Ѳ \u2df4," +
  "\u05d5\u05d5 \u05f0,\u05d5\u05d9 \u05f1,\u05d9\u05d4\u05d5\u05d4 \u05ef,\u05d9\u05d9 \u05f2,\u05da " +
  "\u05db,\u05dd \u05de,\u05df \u05e0,\u05e3 \u05e4,\u05e5 \u05e6,\u0627 \u0870\u0871\u0872\u0873\u0874" +
  "\u0875\u0876\u0877\u0878\u0879\u087a\u087b\u087c\u087d\u087e\u087f\u0880\u0881\u0882\u08ad,\u0645 " +
  "\u06fe,\u0648 \u06e5\u0884,\u064a \u06e6\u0885\u0886,\u06cc \u08c9,\u0712 \u072d,\u0713 \u0714\u072e," +
  "\u0715 \u072f,\u071b \u071c,\u0723 \u0724,\u0726 \u0727,\u07d6 \u07e8,\u07d7 \u07e9,\u07d9 \u07ea,ত ৎ," +
  "న ౝ,ನ ೝ,ക ൿ,ണ ൺ,ന ൻ,മ ൔ,യ ൕ,ര ൎർ,ല ൽ,ള ൾ,ഴ ൖ,ར ཪ,ཨ ༀ,သသ ဿ,Ⴀ Ა,Ⴁ Ბ,Ⴂ Გ,Ⴃ Დ,Ⴄ Ე,Ⴅ Ვ,Ⴆ Ზ,Ⴇ Თ,Ⴈ Ი,Ⴉ Კ,Ⴊ Ლ," +
  "Ⴋ Მ,Ⴌ Ნ,Ⴍ Ო,Ⴎ Პ,Ⴏ Ჟ,Ⴐ Რ,Ⴑ Ს,Ⴒ Ტ,Ⴓ Უ,Ⴔ Ფ,Ⴕ Ქ,Ⴖ Ღ,Ⴗ Ყ,Ⴘ Შ,Ⴙ Ჩ,Ⴚ Ც,Ⴛ Ძ,Ⴜ Წ,Ⴝ Ჭ,Ⴞ Ხ,Ⴟ Ჯ,Ⴠ Ჰ,Ⴡ Ჱ,Ⴢ Ჲ,Ⴣ Ჳ,Ⴤ " +
  "Ჴ,Ⴥ Ჵ,ᚠ ᚡ,ᚢ ᚤᚥ,ᚦ ᚧ,ᚦᚦ ᛰ,ᚨ ᚩᚬᚭᚮ,ᚲ ᚳᚴᚵᚶ,ᚹ ᛩ,ᚺ ᚻᚼᚽ,ᚾ ᚿᛀ,ᛁ ᛂ,ᛃ ᛄ,ᛅ ᛆ,ᛅᛚ ᛮ,ᛈ ᛕ,ᛊ ᛋᛌᛍᛎᛪ,ᛏ ᛐᛑ,ᛒ ᛓᛔ,ᛗ ᛘᛙ,ᛗᛗ ᛯ," +
  "ᛚ ᛛ,ᛜ ᛝ,ᛦ ᛧᛨ,ᤈ ᤝ,ᤋ ᤞ,ᦜᦶ ᧞,ᦜᦶᧁ ᧟,ᨦ \u1a58\u1a59,ᨻ \u1a5a\u1a5b,ᩆᩆ ᩔ,ᬚᬜ ᭌ,ᮃ ᮺ,ᮊ ᮾ,ᮙ ᮿ,ᯀ ᯁ,ᯂ ᯃᯄ,ᯅ ᯆ,ᯇ ᯈ,ᯉ" +
  " ᯊ,ᯋ ᯌᯍ,ᯎ ᯏ,ᯒ ᯓ,ᯔ ᯕ,ᯖ ᯗ,ᯘ ᯙᯚ,ᯛ ᯜ,ᯞ ᯟ,ᳩ ᳪᳫᳬᳮᳯᳰᳱᳺ,ᴈ Ɜ,ᴉ \u1d4e,ᴍ \u1ddf,Ⰰ \u{1e000},Ⰱ \u{1e001},Ⰲ " +
  "\u{1e002},Ⰳ \u{1e003},Ⰴ \u{1e004},Ⰵ \u{1e005},Ⰶ \u{1e006},Ⰸ \u{1e008},Ⰹ \u{1e009},Ⰺ \u{1e00a},Ⰻ " +
  "\u{1e00b},Ⰼ \u{1e00c},Ⰽ \u{1e00d},Ⰾ \u{1e00e},Ⰿ \u{1e00f},Ⱀ \u{1e010},Ⱁ \u{1e011},Ⱂ \u{1e012},Ⱃ " +
  "\u{1e013},Ⱄ \u{1e014},Ⱅ \u{1e015},Ⱆ \u{1e016},Ⱇ \u{1e017},Ⱈ \u{1e018},Ⱋ \u{1e01b},Ⱌ \u{1e01c},Ⱍ " +
  "\u{1e01d},Ⱎ \u{1e01e},Ⱏ \u{1e01f},Ⱐ \u{1e020},Ⱑ \u{1e021},Ⱓ \u{1e023},Ⱔ \u{1e024},Ⱖ \u{1e026},Ⱗ " +
  "\u{1e027},Ⱘ \u{1e028},Ⱙ \u{1e029},Ⱚ \u{1e02a},Ɑ \u1de7,ⲔⲀⲒ ⳤ,⺀ 丶,⺁ 厂,⺂ 乛,⺃ 乚,⺄ 乙,⺅ 亻,⺆ 冂,⺇ 几,⺈ 刀,⺉ 刂,⺊" +
  " 卜,⺋ 卩,⺌ ⺍小,⺎ ⺐尢,⺏ ⺑尣,⺒ 巳,⺓ 幺,⺔ 彑,⺕ 彐,⺖ 忄,⺗ 心,⺘ 扌,⺙ 攵,⺛ 旡,⺜ 日,⺝ 月,⺞ 歺,⺠ 民,⺡ 氵,⺢ 氺,⺣ 灬,⺤ ⺥爫,⺦ 丬,⺧ 牛,⺨ 犭" +
  ",⺩ 王,⺪ 疋,⺫ 目,⺬ 示,⺭ 礻,⺮ 竹,⺯ 糹,⺰ 纟,⺱ ⺳⺴罓,⺲ ⺵罒,⺶ ⺷羊,⺸ 羋,⺹ 耂,⺺ 肀,⺻ 聿,⺼ 肉,⺽ 臼,⺾ ⺿⻀艹,⻁ 虎,⻂ 衤,⻃ 覀,⻄ 西,⻅ 见,⻆ ⻇" +
  "角,⻈ 讠,⻉ 贝,⻊ 足,⻋ 车,⻌ ⻍⻎辶,⻏ 邑,⻐ 钅,⻑ 長,⻒ 镸,⻓ 长,⻔ 门,⻕ 阜,⻖ 阝,⻗ 雨,⻘ 青,⻙ 韦,⻚ 页,⻛ 风,⻜ 飞,⻝ 食,⻞ ⻟飠,⻠ 饣,⻡ 首,⻢ 马,⻣" +
  " 骨,⻤ 鬼,⻥ 鱼,⻦ 鸟,⻧ 鹵,⻨ 麦,⻩ 黄,⻪ 黾,⻫ 齊,⻬ 齐,⻭ 齒,⻮ 齿,⻯ 龍,⻰ 龙,⻱ ⻲龜,\u3031 \u3032,\u3033 \u3034,ぁ あァア,ぃ いィイ,ぅ " +
  "うゥウ,ぇ えェエ,ぉ おォオ,か ゕカヵ,き キ,く クㇰ,け ゖケヶ,こ コ,さ サ,し シㇱ,しめ 〆,す スㇲ,せ セ,そ ソ,た タ,ち チ,っ つッツ,て テ,と トㇳ,な ナ,に ニ,ぬ ヌ" +
  "ㇴ,ね ネ,の ノ,は ハㇵ,ひ ヒㇶ,ふ フㇷ,へ ヘㇸ,ほ ホㇹ,ま マ,ます 〼,み ミ,む ムㇺ,め メ,も モ,ゃ やャヤ,ゅ ゆュユ,ょ よョヨ,ら ラㇻ,り リㇼ,る ルㇽ,れ レㇾ,ろ ロ" +
  "ㇿ,ゎ わヮワ,ゐ ヰ𛅐𛅤,ゑ ヱ𛅑𛅥,を ヲ𛅒𛅦,ん ン𛅧,ㄅ ㆠ,ㄆ ㆴ,ㄊ ㆵ,ㄍ ㆣㆻ,ㄎ ㆶ,ㄏ ㆷ,ㄐ ㆢ,ㄗ ㆡ,ㄚ ㆩ,ㄛ ㆧ,ㄜ ㄮ,ㄞ ㆮ,ㄠ ㆯ,ㄧ ㆪㆳ,ㄨ ㆨㆫ,ㆤ" +
  " ㆥ,ꔌꘋ ꘓ,ꔞꘋ ꘔ,ꔳꘋ ꘕ,ꕇ\ua60c ꘖ,ꕒꘋ ꘗ,ꕘ ꘐ,ꕘ\ua60c ꘘ,ꕚ\ua60c ꘙ,ꕠꘋ ꘚ,ꕪ ꘑ,ꕮ ꘪ,ꖅꘋ ꘛ,ꖇ ꘒ,ꖴꘋ ꘜ,ꗋꘋ ꘝ,ꗑ ꘫ,ꗑ\ua60c ꘞ" +
  ",ꗘꘋ ꘟ,Ꙉ \u2df8,Ꙋ \u2df9,Ꙗ \u2dfc,Ꝯ \u1dd2,Ꞵ \u1de9,ꣲ ꣳꣴꣵꣶꣷ,ꦫ ꦬ,ꬸ \u1dec,\ufffd \u{10376}\u{10377}" +
  "\u{10378}\u{10379}\u{1037a}\u{11a3b}\u{11a3c}\u{11a3d}\u{11a3e}\u{11a8a}\u{11a8b}\u{11a8c}\u{11a8d}" +
  "\u{11a8e}\u{11a8f}\u{11a90}\u{11a91}\u{11a92}\u{11a93}\u{11a94}\u{11a95}\u{11d47}";

const sameCharacters = lazy(() =>
  new Map(
    SAME_CHARACTERS.split(",").flatMap((group) => {
      const [same = "", characters = ""] = group.split(" ");
      return Array.from(characters, (character) => [character, same] as const);
    }),
  )
);
