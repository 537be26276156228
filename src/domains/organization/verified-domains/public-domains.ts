/** Public mail services; no group may claim them or a domain below them. */
export const MAIL_SERVICES: ReadonlySet<string> = new Set(
  (
    "126.com 139.com 163.com aim.com alice.it aol.com att.net bellsouth.net bigpond.com bk.ru bluewin.ch bt.com " +
    "btinternet.com charter.net comcast.net cox.net daum.net duck.com earthlink.net email.com fastmail.com " +
    "fastmail.fm foxmail.com free.fr freenet.de gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.net googlemail.com " +
    "hanmail.net hey.com hotmail.co.uk hotmail.com hotmail.de hotmail.fr hotmail.it hushmail.com icloud.com " +
    "inbox.ru juno.com laposte.net libero.it list.ru live.co.uk live.com live.fr mac.com mail.com mail.ru " +
    "mailinator.com me.com msn.com naver.com o2.pl onet.pl orange.fr outlook.com outlook.de outlook.fr pm.me " +
    "posteo.de proton.me protonmail.ch protonmail.com qq.com rambler.ru rediffmail.com rocketmail.com " +
    "sbcglobal.net seznam.cz sina.com sky.com sohu.com t-online.de tuta.com tutanota.com verizon.net virgilio.it " +
    "wanadoo.fr web.de wp.pl xtra.co.nz ya.ru yahoo.ca yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com yahoo.com.br " +
    "yahoo.de yahoo.es yahoo.fr yahoo.it yandex.com yandex.ru yeah.net ymail.com zoho.com"
  ).split(" "),
);

/** Public suffixes, below which anybody may register a domain. */
export const PUBLIC_SUFFIXES: ReadonlySet<string> = new Set(
  (
    "ac.jp ac.nz ac.uk ac.za co.id co.il co.in co.jp co.ke co.kr co.nz co.th co.uk co.za com.ar com.au com.br " +
    "com.cn com.co com.eg com.hk com.mx com.my com.ng com.pe com.ph com.pk com.pl com.sa com.sg com.tr com.tw " +
    "com.ua com.vn edu.au edu.cn eu.org github.io gov.au gov.br gov.cn gov.in gov.uk herokuapp.com " +
    "me.uk ne.jp net.au net.br net.cn net.in net.nz net.uk netlify.app or.jp or.kr org.au org.br org.cn org.in " +
    "org.nz org.uk org.za pages.dev vercel.app web.app workers.dev"
  ).split(" "),
);
